#include "entrypoint/flags/foreign/foreign_flag.h"

#include <algorithm>
#include <map>
#include <string>

#include "entrypoint/flags/foreign/foreign_rules.h"

namespace berth {

const ForeignFlag* find_foreign_flag(std::string_view name) {
  static const std::map<std::string_view, const ForeignFlag*> rows = [] {
    std::map<std::string_view, const ForeignFlag*> all;
    for_each_foreign_flag([&](const ForeignFlag& flag) { all.emplace(flag.name, &flag); });
    return all;
  }();
  std::string wanted(name);
  std::ranges::replace(wanted, '-', '_');
  const auto found = rows.find(wanted);
  return found == rows.end() ? nullptr : found->second;
}

std::span<const ForeignFlag> trainer_flags() {
  static constexpr std::string_view kNoScaling = "berth has no fp16, and bf16 needs no scaling";
  static constexpr std::string_view kCompiles = "--device decides whether programs are compiled";
  static constexpr std::string_view kMetrics =
      "berth computes the metrics of the task as it evaluates";
  static constexpr std::string_view kResumes = "a checkpoint holds all that a resumed job needs";
  static constexpr std::string_view kLoader =
      "berth prepares batches on one thread beside training";
  static constexpr std::string_view kNoPadding =
      "batches have no padding, so texts of different lengths waste nothing";

  static constexpr ForeignFlag kRows[] = {
      // What to do.
      {"do_train", Form::kSwitch, Fate::kRule, {}, {}, rules::choose_mode},
      {"do_eval", Form::kSwitch, Fate::kRule, {}, {}, rules::choose_mode},
      {"do_predict", Form::kSwitch, Fate::kRule, {}, {}, rules::choose_mode},
      {"overwrite_output_dir", Form::kSwitch, Fate::kIgnored,
       "berth deletes no job; the same command resumes the one in --job-dir, and another command "
       "is refused there"},
      {"resume_from_checkpoint", Form::kValue, Fate::kRule, {}, {}, rules::resume},
      {"ignore_data_skip", Form::kSwitch, Fate::kIgnored,
       "a resumed job goes on with the row where it stopped, without reading the others"},
      {"restore_callback_states_from_checkpoint", Form::kSwitch, Fate::kIgnored, kResumes},
      // Batches.
      {"per_device_train_batch_size", Form::kValue, Fate::kRule, {}, {}, rules::multiply_batch},
      {"per_gpu_train_batch_size", Form::kValue, Fate::kRule, {}, {}, rules::multiply_batch},
      {"per_device_eval_batch_size", Form::kValue, Fate::kSame, "eval-batch-size"},
      {"per_gpu_eval_batch_size", Form::kValue, Fate::kSame, "eval-batch-size"},
      {"auto_find_batch_size", Form::kSwitch, Fate::kIgnored,
       "a batch that does not fit ends the job before the first update, with the one that does"},
      {"group_by_length", Form::kSwitch, Fate::kIgnored, kNoPadding},
      {"length_column_name", Form::kValue, Fate::kIgnored, kNoPadding},
      {"train_sampling_strategy", Form::kValue, Fate::kRefused,
       "berth shuffles the rows anew in every epoch", "random,group_by_length"},
      {"average_tokens_across_devices", Form::kSwitch, Fate::kIgnored,
       "a loss is always the mean over all words or texts of an update"},
      {"data_seed", Form::kValue, Fate::kIgnored, "--seed decides the order of the rows, too"},
      {"full_determinism", Form::kSwitch, Fate::kIgnored,
       "results always repeat bit for bit on the same kind of machine"},
      {"dataloader_num_workers", Form::kValue, Fate::kIgnored, kLoader},
      {"dataloader_in_order", Form::kSwitch, Fate::kIgnored, kLoader},
      {"dataloader_multiprocessing_context", Form::kValue, Fate::kIgnored, kLoader},
      {"dataloader_persistent_workers", Form::kSwitch, Fate::kIgnored, kLoader},
      {"dataloader_pin_memory", Form::kSwitch, Fate::kIgnored, kLoader},
      {"dataloader_prefetch_factor", Form::kValue, Fate::kIgnored, kLoader},
      {"remove_unused_columns", Form::kSwitch, Fate::kIgnored,
       "columns that training does not need are not read"},
      // Precision.
      {"bf16", Form::kSwitch, Fate::kMeans, "--precision=bf16"},
      {"bf16_full_eval", Form::kSwitch, Fate::kIgnored, "--precision holds for evaluation, too"},
      {"fp16", Form::kSwitch, Fate::kRule, {}, {}, rules::leave_precision},
      {"fp16_full_eval", Form::kSwitch, Fate::kRule, {}, {}, rules::leave_precision},
      {"fp16_backend", Form::kValue, Fate::kIgnored, kNoScaling},
      {"fp16_opt_level", Form::kValue, Fate::kIgnored, kNoScaling},
      {"half_precision_backend", Form::kValue, Fate::kIgnored, kNoScaling},
      {"tf32", Form::kSwitch, Fate::kRule, {}, {}, rules::leave_precision},
      // The model, the loss and the optimizer.
      {"activation_checkpointing", Form::kSwitch, Fate::kMeans, "--recompute"},
      {"activation_checkpointing_kwargs", Form::kValue, Fate::kIgnored,
       "--recompute has no variants"},
      {"gradient_checkpointing_kwargs", Form::kValue, Fate::kIgnored,
       "--recompute has no variants"},
      {"adafactor", Form::kSwitch, Fate::kRefused, "the optimizers are --optimizer adamw and lamb"},
      {"optim_args", Form::kValue, Fate::kRefused,
       "the optimizer's numbers are --adam-beta1, --adam-beta2 and --adam-epsilon"},
      {"optim_target_modules", Form::kList, Fate::kRefused,
       "the optimizers are --optimizer adamw and lamb, for all parameters alike"},
      {"lr_scheduler_kwargs", Form::kValue, Fate::kRefused,
       "--lr-end and --lr-power shape the schedule", "{}"},
      {"neftune_noise_alpha", Form::kValue, Fate::kRefused,
       "berth adds no noise to embeddings; leave the flag out"},
      {"use_cache", Form::kSwitch, Fate::kIgnored, "an encoder has no cache of keys and values"},
      {"past_index", Form::kValue, Fate::kIgnored, "an encoder has no past states"},
      {"torch_compile", Form::kSwitch, Fate::kIgnored, kCompiles},
      {"torch_compile_backend", Form::kValue, Fate::kIgnored, kCompiles},
      {"torch_compile_mode", Form::kValue, Fate::kIgnored, kCompiles},
      {"torchdynamo", Form::kValue, Fate::kIgnored, kCompiles},
      {"jit_mode_eval", Form::kSwitch, Fate::kIgnored, kCompiles},
      {"use_liger_kernel", Form::kSwitch, Fate::kIgnored, "berth has kernels of its own"},
      {"liger_kernel_config", Form::kValue, Fate::kIgnored, "berth has kernels of its own"},
      // Evaluation.
      {"eval_strategy", Form::kValue, Fate::kRule, {}, {}, rules::choose_evaluations},
      {"evaluation_strategy", Form::kValue, Fate::kRule, {}, {}, rules::choose_evaluations},
      {"evaluate_during_training", Form::kSwitch, Fate::kRule, {}, {}, rules::evaluate_at_logs},
      {"eval_all_checkpoints", Form::kSwitch, Fate::kIgnored,
       "the summaries have the scores of every evaluation; --eval-steps says how often to "
       "evaluate"},
      {"eval_delay", Form::kValue, Fate::kIgnored, "evaluations begin with the training"},
      {"eval_on_start", Form::kSwitch, Fate::kIgnored,
       "berth evaluates after the first updates; --mode eval scores a model without training"},
      {"eval_accumulation_steps", Form::kValue, Fate::kIgnored,
       "predictions of an evaluation leave the device with each batch"},
      {"eval_do_concat_batches", Form::kSwitch, Fate::kIgnored, kMetrics},
      {"eval_use_gather_object", Form::kSwitch, Fate::kIgnored, kMetrics},
      {"batch_eval_metrics", Form::kSwitch, Fate::kIgnored, kMetrics},
      {"include_for_metrics", Form::kList, Fate::kIgnored, kMetrics},
      {"include_inputs_for_metrics", Form::kSwitch, Fate::kIgnored, kMetrics},
      {"prediction_loss_only", Form::kSwitch, Fate::kIgnored, kMetrics},
      {"greater_is_better", Form::kSwitch, Fate::kIgnored,
       "berth knows of each metric whether more is better"},
      // Checkpoints.
      {"save_strategy", Form::kValue, Fate::kRule, {}, {}, rules::choose_saves},
      {"save_only_model", Form::kSwitch, Fate::kIgnored, kResumes},
      {"save_safetensors", Form::kSwitch, Fate::kIgnored, "berth always writes safetensors"},
      {"save_on_each_node", Form::kSwitch, Fate::kIgnored, "a job has one machine"},
      {"enable_jit_checkpoint", Form::kSwitch, Fate::kIgnored,
       "SIGTERM always makes a job save before it ends"},
  };
  return kRows;
}

std::span<const ForeignFlag> trainer_host_flags() {
  static constexpr std::string_view kOneMachine =
      "one process drives all devices of the machine, each with the whole model";
  static constexpr std::string_view kNoHub =
      "berth uploads nothing to the hub; after the job, `hf upload REPO JOB_DIR/model` does";
  static constexpr std::string_view kHubDetail = "berth uploads nothing to the hub";
  static constexpr std::string_view kNoTracker =
      "berth writes TensorBoard summaries into --summary-dir, and reports to no tracking service";
  static constexpr std::string_view kLogs = "the log and the summaries always tell it";

  static constexpr ForeignFlag kRows[] = {
      // Devices and processes.
      {"no_cuda", Form::kSwitch, Fate::kMeans, "--device=cpu"},
      {"use_cpu", Form::kSwitch, Fate::kMeans, "--device=cpu"},
      {"use_mps_device", Form::kSwitch, Fate::kRefused,
       "leave it out; the devices are --device cpu, "
       "tpu and gpu"},
      {"use_habana", Form::kSwitch, Fate::kRefused,
       "berth trains on CPUs, TPUs and GPUs of NVIDIA"},
      {"ipu_config_name", Form::kValue, Fate::kRefused,
       "berth trains on CPUs, TPUs and GPUs of NVIDIA"},
      {"gaudi_config_name", Form::kValue, Fate::kIgnored, "berth has kernels of its own"},
      {"use_ipex", Form::kSwitch, Fate::kIgnored, "berth has kernels of its own"},
      {"tpu_num_cores", Form::kValue, Fate::kIgnored,
       "all TPUs of the machine share every batch; --devices takes fewer"},
      {"tpu_metrics_debug", Form::kSwitch, Fate::kIgnored, "--log-level debug tells more"},
      {"local_rank", Form::kValue, Fate::kIgnored, kOneMachine},
      {"accelerator_config", Form::kValue, Fate::kIgnored, kOneMachine},
      {"parallelism_config", Form::kValue, Fate::kIgnored, kOneMachine},
      {"ddp_backend", Form::kValue, Fate::kIgnored, kOneMachine},
      {"xpu_backend", Form::kValue, Fate::kIgnored, kOneMachine},
      {"ddp_broadcast_buffers", Form::kSwitch, Fate::kIgnored, kOneMachine},
      {"ddp_bucket_cap_mb", Form::kValue, Fate::kIgnored, kOneMachine},
      {"ddp_find_unused_parameters", Form::kSwitch, Fate::kIgnored, kOneMachine},
      {"ddp_static_graph", Form::kSwitch, Fate::kIgnored, kOneMachine},
      {"ddp_timeout", Form::kValue, Fate::kIgnored, kOneMachine},
      {"deepspeed", Form::kValue, Fate::kIgnored, kOneMachine},
      {"fsdp", Form::kList, Fate::kIgnored, kOneMachine},
      {"fsdp_config", Form::kValue, Fate::kIgnored, kOneMachine},
      {"fsdp_min_num_params", Form::kValue, Fate::kIgnored, kOneMachine},
      {"fsdp_transformer_layer_cls_to_wrap", Form::kValue, Fate::kIgnored, kOneMachine},
      {"sharded_ddp", Form::kList, Fate::kIgnored, kOneMachine},
      {"mp_parameters", Form::kValue, Fate::kIgnored, kOneMachine},
      {"ray_scope", Form::kValue, Fate::kIgnored,
       "a study is run by a tuning service; --hypertune-metric names what it reads"},
      {"torch_empty_cache_steps", Form::kValue, Fate::kIgnored,
       "the memory of a job is planned before the first update"},
      {"skip_memory_metrics", Form::kSwitch, Fate::kIgnored,
       "the memory of a job is planned before the first update"},
      {"use_legacy_prediction_loop", Form::kSwitch, Fate::kIgnored, "there is one such loop here"},
      {"debug", Form::kList, Fate::kIgnored, "--log-level debug tells more"},
      // Reports.
      {"report_to", Form::kList, Fate::kRefused,
       "berth writes TensorBoard summaries into --summary-dir; `wandb sync` reads them, and "
       "--report_to tensorboard is accepted, and so is mlflow, where MLFLOW_TRACKING_URI names a "
       "server",
       "tensorboard,all,mlflow"},
      {"logging_strategy", Form::kValue, Fate::kRule, {}, {}, rules::choose_logging},
      {"logging_first_step", Form::kSwitch, Fate::kIgnored,
       "--logging-steps 1 logs the first update and all others"},
      {"logging_nan_inf_filter", Form::kSwitch, Fate::kIgnored,
       "an update whose loss is not finite is skipped, and the log says so"},
      {"log_level_replica", Form::kValue, Fate::kIgnored, kOneMachine},
      {"log_on_each_node", Form::kSwitch, Fate::kIgnored, kOneMachine},
      {"disable_tqdm", Form::kSwitch, Fate::kIgnored,
       "there is a progress bar on a terminal only; --log-format json has none"},
      {"include_num_input_tokens_seen", Form::kValue, Fate::kIgnored, kLogs},
      {"include_tokens_per_second", Form::kSwitch, Fate::kIgnored, kLogs},
      {"run_name", Form::kValue, Fate::kIgnored, "a job is named by its --job-dir"},
      {"project", Form::kValue, Fate::kIgnored, kNoTracker},
      {"trackio_space_id", Form::kValue, Fate::kIgnored, kNoTracker},
      {"trackio_bucket_id", Form::kValue, Fate::kIgnored, kNoTracker},
      {"trackio_static_space_id", Form::kValue, Fate::kIgnored, kNoTracker},
      // The hub.
      {"push_to_hub", Form::kSwitch, Fate::kRefused, kNoHub},
      {"push_to_hub_model_id", Form::kValue, Fate::kRefused, kNoHub},
      {"push_to_hub_organization", Form::kValue, Fate::kRefused, kNoHub},
      {"push_to_hub_token", Form::kValue, Fate::kIgnored, kHubDetail},
      {"hub_model_id", Form::kValue, Fate::kIgnored, kHubDetail},
      {"hub_token", Form::kValue, Fate::kIgnored, kHubDetail},
      {"hub_strategy", Form::kValue, Fate::kIgnored, kHubDetail},
      {"hub_revision", Form::kValue, Fate::kIgnored, kHubDetail},
      {"hub_private_repo", Form::kSwitch, Fate::kIgnored, kHubDetail},
      {"hub_always_push", Form::kSwitch, Fate::kIgnored, kHubDetail},
  };
  return kRows;
}

std::span<const ForeignFlag> example_flags() {
  static constexpr std::string_view kNoDataSets =
      "berth takes files, folders of `datasets` and hf://datasets/ORG/NAME for --train-data-file; "
      "`berth explain` before this command line shows how to make a folder";
  static constexpr std::string_view kSplits =
      "each split is a file: --train-data-file, --eval-data-file and --predict-data-file";
  static constexpr std::string_view kHubToken =
      "the hub's token comes from the variable HF_TOKEN, or from `hf auth login`";
  static constexpr std::string_view kReads = "berth reads and tokenizes the rows anew in every job";
  static constexpr std::string_view kTokenizer =
      "berth has one tokenizer of each kind, and it is fast";
  static constexpr std::string_view kAllRows =
      "berth evaluates on all rows; name a file that holds the first rows only";
  static constexpr std::string_view kNoReferences =
      "berth finds the words of a text itself, and reads no file of their places";
  static constexpr std::string_view kLanguages =
      "name the rows of a language: --train-data-file hf://datasets/facebook/xnli/de";
  static constexpr std::string_view kDType =
      "parameters are fp32; --precision is the type of products";
  static constexpr std::string_view kMemory =
      "the memory of a job is planned before the first update";

  static constexpr std::string_view kNoDebugger = "it names a debugger of Python";

  static constexpr ForeignFlag kRows[] = {
      // The model.
      {"model_type", Form::kValue, Fate::kRule, {}, {}, rules::name_architecture},
      {"tokenizer_name", Form::kValue, Fate::kRule, {}, {}, rules::name_tokenizer},
      {"config_overrides", Form::kValue, Fate::kRefused,
       "write the sizes into a config.json and name it with --model-config"},
      {"model_revision", Form::kValue, Fate::kRule, {}, {}, rules::name_revision},
      {"token", Form::kValue, Fate::kIgnored, kHubToken},
      {"use_auth_token", Form::kSwitch, Fate::kIgnored, kHubToken},
      {"trust_remote_code", Form::kSwitch, Fate::kIgnored, "berth runs no code that is in files"},
      {"use_fast_tokenizer", Form::kSwitch, Fate::kIgnored, kTokenizer},
      {"use_slow_tokenizer", Form::kSwitch, Fate::kIgnored, kTokenizer},
      {"use_fast", Form::kSwitch, Fate::kIgnored, kTokenizer},
      {"torch_dtype", Form::kValue, Fate::kIgnored, kDType},
      {"low_cpu_mem_usage", Form::kSwitch, Fate::kIgnored, kMemory},
      // The data.
      {"dataset_name", Form::kValue, Fate::kRefused, kNoDataSets},
      {"dataset_config_name", Form::kValue, Fate::kRefused, kNoDataSets},
      {"train_split_name", Form::kValue, Fate::kRefused, kSplits, "train"},
      {"validation_split_name", Form::kValue, Fate::kRefused, kSplits, "validation"},
      {"test_split_name", Form::kValue, Fate::kRefused, kSplits, "test"},
      {"remove_splits", Form::kValue, Fate::kIgnored, kSplits},
      {"remove_columns", Form::kValue, Fate::kIgnored,
       "columns that training does not need are not read"},
      {"text_column_names", Form::kValue, Fate::kRule, {}, {}, rules::name_columns},
      {"text_column_delimiter", Form::kValue, Fate::kIgnored,
       "texts of two columns are a pair, with the separator of the tokenizer between them"},
      {"max_predict_samples", Form::kValue, Fate::kRefused, kAllRows},
      {"max_test_samples", Form::kValue, Fate::kRefused, kAllRows},
      {"block_size", Form::kValue, Fate::kRule, {}, {}, rules::name_block},
      {"train_ref_file", Form::kValue, Fate::kRefused, kNoReferences},
      {"validation_ref_file", Form::kValue, Fate::kRefused, kNoReferences},
      {"chinese_ref_file", Form::kValue, Fate::kRefused, kNoReferences},
      {"language", Form::kValue, Fate::kRefused, kLanguages},
      {"train_language", Form::kValue, Fate::kRefused, kLanguages},
      {"validation_split_percentage", Form::kValue, Fate::kRule, {}, {}, rules::split_percentage},
      {"shuffle_train_dataset", Form::kSwitch, Fate::kIgnored,
       "the rows are shuffled anew in every epoch"},
      {"shuffle_seed", Form::kValue, Fate::kIgnored, "--seed decides the order of the rows, too"},
      {"streaming", Form::kSwitch, Fate::kIgnored,
       "a table may be larger than memory; it is read once, into a temporary file"},
      {"overwrite_cache", Form::kSwitch, Fate::kIgnored, kReads},
      {"preprocessing_num_workers", Form::kValue, Fate::kIgnored, kReads},
      {"pad_to_max_length", Form::kSwitch, Fate::kIgnored, "batches have no padding"},
      // The task.
      {"mlm", Form::kSwitch, Fate::kMeans, "--task=masked_lm"},
      {"whole_word_mask", Form::kSwitch, Fate::kMeans, "--whole-word-masking"},
      {"do_regression", Form::kSwitch, Fate::kMeans, "--task=regression"},
      {"metric_name", Form::kValue, Fate::kRefused,
       "the task has its metrics; --metric-for-best-model chooses one",
       "accuracy,f1,precision,recall,matthews_correlation,pearsonr,spearmanr,mse,glue"},
      {"label_all_tokens", Form::kSwitch, Fate::kRefused,
       "the first token of a word carries its tag; leave the flag out"},
      {"return_entity_level_metrics", Form::kSwitch, Fate::kIgnored,
       "metrics.json always has the scores of every class"},
      // Of early transformers.
      {"labels", Form::kValue, Fate::kRule, {}, {}, rules::name_tags},
      {"task_type", Form::kValue, Fate::kRefused,
       "run_ner.py finds entities here; --task pos tags parts of speech", "ner"},
      {"lang_id", Form::kValue, Fate::kRefused, "berth has no models with embeddings of languages"},
      {"server_ip", Form::kValue, Fate::kIgnored, kNoDebugger},
      {"server_port", Form::kValue, Fate::kIgnored, kNoDebugger},
      // Of the scripts without Trainer.
      {"checkpointing_steps", Form::kValue, Fate::kRule, {}, {}, rules::checkpoint_steps},
      {"with_tracking", Form::kSwitch, Fate::kIgnored,
       "berth always writes TensorBoard summaries into --summary-dir"},
  };
  return kRows;
}

std::span<const ForeignFlag> bert_flags() {
  static constexpr std::string_view kNoBar = "there is a progress bar on a terminal only";
  static constexpr std::string_view kOwnTpu = "berth uses the TPU of the machine on which it runs";

  static constexpr ForeignFlag kRows[] = {
      // Of its first version for PyTorch.
      {"bert_model", Form::kValue, Fate::kRule, {}, {}, rules::name_sizes},
      {"optimize_on_cpu", Form::kSwitch, Fate::kIgnored,
       "the moments of the optimizer lie where the job computes"},
      {"amp", Form::kSwitch, Fate::kRule, {}, {}, rules::leave_precision},
      {"eval_script", Form::kValue, Fate::kIgnored, "berth scores the answers itself"},
      {"json_summary", Form::kValue, Fate::kIgnored, "metrics.json has the scores"},
      {"disable_progress_bar", Form::kSwitch, Fate::kIgnored, kNoBar},
      {"skip_checkpoint", Form::kSwitch, Fate::kIgnored, "berth always writes the model"},
      {"skip_cache", Form::kSwitch, Fate::kIgnored, "berth reads the rows anew in every job"},
      // Of google-research/bert.
      {"predict_file", Form::kValue, Fate::kSame, "predict-data-file"},
      {"predict_batch_size", Form::kValue, Fate::kSame, "eval-batch-size"},
      {"input_file", Form::kValue, Fate::kRefused,
       "name the records of create_pretraining_data.py with --train-data-file, and give --task "
       "mlm_nsp, or --task mlm where they have no next sentences"},
      {"output_file", Form::kValue, Fate::kRefused,
       "--mode prepare writes records into the folder --export-dir"},
      {"dupe_factor", Form::kValue, Fate::kRefused,
       "--mode prepare writes one copy of the text. --task mlm_nsp on the text itself makes new "
       "pairs and masks in every epoch",
       "1"},
      {"short_seq_prob", Form::kValue, Fate::kRefused, "one document in ten has shorter pairs",
       "0.1"},
      {"random_seed", Form::kValue, Fate::kSame, "seed"},
      {"max_query_length", Form::kValue, Fate::kRefused,
       "a question is always cut at 64 tokens; leave the flag out", "64"},
      {"max_predictions_per_seq", Form::kValue, Fate::kIgnored,
       "berth masks --mlm-probability of the tokens, without another limit"},
      {"max_eval_steps", Form::kValue, Fate::kIgnored, "berth evaluates on all rows of the file"},
      {"verbose_logging", Form::kSwitch, Fate::kIgnored, "--log-level debug tells more"},
      // TPUs.
      {"use_tpu", Form::kSwitch, Fate::kMeans, "--device=tpu"},
      {"num_tpu_cores", Form::kValue, Fate::kIgnored,
       "all TPUs of the machine share every batch; --devices takes fewer"},
      {"iterations_per_loop", Form::kValue, Fate::kIgnored, "the loop runs one update at a time"},
      {"tpu_zone", Form::kValue, Fate::kIgnored, kOwnTpu},
      {"gcp_project", Form::kValue, Fate::kIgnored, kOwnTpu},
      {"tpu_job_name", Form::kValue, Fate::kIgnored, kOwnTpu},
      {"master", Form::kValue, Fate::kIgnored, kOwnTpu},
  };
  return kRows;
}

std::span<const ForeignFlag> garden_flags() {
  static constexpr std::string_view kCompiles = "--device decides whether programs are compiled";
  static constexpr std::string_view kReduces = "XLA chooses how devices add their gradients";
  static constexpr std::string_view kThreads = "--threads says how many threads compute";
  static constexpr std::string_view kReader =
      "berth prepares batches on one thread beside training";
  static constexpr std::string_view kNoConfig =
      "every option is a flag: berth explain 'python train.py --experiment=...' turns the "
      "configuration of an experiment into flags";
  static constexpr std::string_view kNoGin = "berth reads no gin files; every option is a flag";
  static constexpr std::string_view kNoHubModule =
      "berth reads checkpoints and model folders: name one with --model";
  static constexpr std::string_view kOneMachine =
      "every process that is started trains the whole job";
  static constexpr std::string_view kNoLogger =
      "metrics.json has the speed, and --summary-dir the curves for TensorBoard";
  static constexpr std::string_view kEpochs =
      "--epochs says how often the rows are read; --max-steps counts updates";
  static constexpr std::string_view kScaling = "fp32 and bf16 need no loss scaling";

  static constexpr ForeignFlag kRows[] = {
      // Data and model.
      {"input_files", Form::kValue, Fate::kRefused,
       "name the records of create_pretraining_data.py with --train-data-file, and give --task "
       "mlm_nsp, or --task mlm where they have no next sentences"},
      {"train_data_size", Form::kValue, Fate::kIgnored, "berth counts the rows as it reads them"},
      {"use_synthetic_data", Form::kSwitch, Fate::kRefused,
       "name real rows with --train-data-file"},
      {"hub_module_url", Form::kValue, Fate::kRefused, kNoHubModule},
      {"tfhub_handle", Form::kValue, Fate::kRefused, kNoHubModule},
      {"hub_module_trainable", Form::kSwitch, Fate::kIgnored,
       "all layers train; --freeze-encoder-layers and --freeze-embeddings keep some as they are"},
      {"use_next_sentence_label", Form::kSwitch, Fate::kRefused,
       "--task mlm_nsp trains next sentences, too, and --task mlm does not"},
      {"sub_model_export_name", Form::kValue, Fate::kIgnored,
       "the finished model holds the encoder, in JOB_DIR/model"},
      {"clean", Form::kSwitch, Fate::kIgnored,
       "berth deletes no job; the same command resumes the one in --job-dir, and another command "
       "is refused there"},
      // How long.
      {"train_epochs", Form::kValue, Fate::kSame, "epochs"},
      {"num_steps_per_epoch", Form::kValue, Fate::kIgnored, kEpochs},
      {"pretrain_steps", Form::kValue, Fate::kRefused, kEpochs},
      {"epochs_between_evals", Form::kValue, Fate::kRefused,
       "--eval-steps counts the updates between evaluations", "1"},
      {"stop_threshold", Form::kValue, Fate::kRefused,
       "--early-stopping-patience stops a job that gets no better"},
      // The experiments of official/nlp/train.py.
      {"experiment", Form::kValue, Fate::kRefused, kNoConfig},
      {"config_file", Form::kValue, Fate::kRule, {}, {}, rules::name_config_file},
      {"params_override", Form::kValue, Fate::kRefused, kNoConfig},
      {"gin_file", Form::kValue, Fate::kIgnored, kNoGin},
      {"gin_params", Form::kValue, Fate::kIgnored, kNoGin},
      {"gin_param", Form::kValue, Fate::kIgnored, kNoGin},
      {"tf_data_service", Form::kValue, Fate::kIgnored, kReader},
      {"tflex_output_uri", Form::kValue, Fate::kIgnored, "results are in --job-dir"},
      {"enable_async_checkpointing", Form::kSwitch, Fate::kIgnored,
       "checkpoints are always written in the background"},
      // How it computes.
      {"loss_scale", Form::kValue, Fate::kIgnored, kScaling},
      {"fp16_implementation", Form::kValue, Fate::kIgnored, kScaling},
      {"scale_loss", Form::kSwitch, Fate::kIgnored,
       "a loss is always the mean over all words or texts of an update"},
      {"enable_xla", Form::kSwitch, Fate::kIgnored, kCompiles},
      {"run_eagerly", Form::kSwitch, Fate::kIgnored, kCompiles},
      {"use_keras_compile_fit", Form::kSwitch, Fate::kIgnored, kCompiles},
      {"steps_per_loop", Form::kValue, Fate::kIgnored, "the loop runs one update at a time"},
      {"all_reduce_alg", Form::kValue, Fate::kIgnored, kReduces},
      {"allreduce_bytes_per_pack", Form::kValue, Fate::kIgnored, kReduces},
      {"explicit_allreduce", Form::kSwitch, Fate::kIgnored, kReduces},
      {"num_packs", Form::kValue, Fate::kIgnored, kReduces},
      {"tpu_platform", Form::kValue, Fate::kIgnored, "a plugin drives the TPU: --pjrt-plugin"},
      {"worker_hosts", Form::kValue, Fate::kIgnored, kOneMachine},
      {"task_index", Form::kValue, Fate::kIgnored, kOneMachine},
      {"inter_op_parallelism_threads", Form::kValue, Fate::kIgnored, kThreads},
      {"intra_op_parallelism_threads", Form::kValue, Fate::kIgnored, kThreads},
      {"tf_gpu_thread_mode", Form::kValue, Fate::kIgnored, kThreads},
      {"per_gpu_thread_count", Form::kValue, Fate::kIgnored, kThreads},
      {"datasets_num_private_threads", Form::kValue, Fate::kIgnored, kReader},
      {"datasets_num_parallel_batches", Form::kValue, Fate::kIgnored, kReader},
      {"num_parallel_calls", Form::kValue, Fate::kIgnored, kReader},
      {"training_dataset_cache", Form::kSwitch, Fate::kIgnored, kReader},
      {"tf_data_experimental_slack", Form::kSwitch, Fate::kIgnored, kReader},
      // Reports.
      {"train_summary_interval", Form::kValue, Fate::kIgnored,
       "the curves in --summary-dir have a point for every --logging-steps updates"},
      {"hooks", Form::kValue, Fate::kIgnored, kNoLogger},
      {"benchmark_log_dir", Form::kValue, Fate::kIgnored, kNoLogger},
      {"benchmark_logger_type", Form::kValue, Fate::kIgnored, kNoLogger},
      {"benchmark_test_id", Form::kValue, Fate::kIgnored, kNoLogger},
      {"bigquery_data_set", Form::kValue, Fate::kIgnored, kNoLogger},
      {"bigquery_metric_table", Form::kValue, Fate::kIgnored, kNoLogger},
      {"bigquery_run_status_table", Form::kValue, Fate::kIgnored, kNoLogger},
      {"bigquery_run_table", Form::kValue, Fate::kIgnored, kNoLogger},
  };
  return kRows;
}

}  // namespace berth
