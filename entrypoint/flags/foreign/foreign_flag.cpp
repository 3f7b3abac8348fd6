#include "entrypoint/flags/foreign/foreign_flag.h"

#include <algorithm>
#include <string>
#include <vector>

#include "entrypoint/flags/foreign/foreign_rules.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Flags that have one translation: their names between blanks, and the rest of ForeignFlag.
struct SharedFate {
  std::string_view names;
  Form form;
  Fate fate;
  std::string_view text = {}, accepted = {};
  void (*rule)(const ForeignRule&) = nullptr;
};

// transformers' TrainingArguments: how it trains.
std::span<const SharedFate> trainer_flags() {
  using enum Form;
  using enum Fate;
  static constexpr std::string_view kNoScaling = "berth has no fp16, and bf16 needs no scaling";
  static constexpr std::string_view kCompiles = "--device decides whether programs are compiled";
  static constexpr std::string_view kMetrics =
      "berth computes the metrics of the task as it evaluates";
  static constexpr std::string_view kResumes = "a checkpoint holds all that a resumed job needs";
  static constexpr std::string_view kLoader =
      "berth prepares batches on one thread beside training";
  static constexpr std::string_view kNoPadding =
      "batches have no padding, so texts of different lengths waste nothing";

  static constexpr SharedFate kRows[] = {
      // What to do.
      {"do_train do_eval do_predict", kSwitch, kRule, {}, {}, rules::choose_mode},
      {"overwrite_output_dir", kSwitch, kIgnored,
       "berth deletes no job; the same command resumes the one in --job-dir, and another command "
       "is refused there"},
      {"resume_from_checkpoint", kValue, kRule, {}, {}, rules::resume},
      {"ignore_data_skip", kSwitch, kIgnored,
       "a resumed job goes on with the row where it stopped, without reading the others"},
      {"restore_callback_states_from_checkpoint", kSwitch, kIgnored, kResumes},
      // Batches.
      {"per_device_train_batch_size per_gpu_train_batch_size",
       kValue,
       kRule,
       {},
       {},
       rules::multiply_batch},
      {"per_device_eval_batch_size per_gpu_eval_batch_size", kValue, kSame, "eval-batch-size"},
      {"auto_find_batch_size", kSwitch, kIgnored,
       "a batch that does not fit ends the job before the first update, with the one that does"},
      {"group_by_length", kSwitch, kIgnored, kNoPadding},
      {"length_column_name", kValue, kIgnored, kNoPadding},
      {"train_sampling_strategy", kValue, kRefused, "berth shuffles the rows anew in every epoch",
       "random,group_by_length"},
      {"average_tokens_across_devices", kSwitch, kIgnored,
       "a loss is always the mean over all words or texts of an update"},
      {"data_seed", kValue, kIgnored, "--seed decides the order of the rows, too"},
      {"full_determinism", kSwitch, kIgnored,
       "results always repeat bit for bit on the same kind of machine"},
      {"dataloader_num_workers dataloader_multiprocessing_context dataloader_prefetch_factor",
       kValue, kIgnored, kLoader},
      {"dataloader_in_order dataloader_persistent_workers dataloader_pin_memory", kSwitch, kIgnored,
       kLoader},
      {"remove_unused_columns", kSwitch, kIgnored,
       "columns that training does not need are not read"},
      // Precision.
      {"bf16", kSwitch, kMeans, "--precision=bf16"},
      {"bf16_full_eval", kSwitch, kIgnored, "--precision holds for evaluation, too"},
      {"fp16 fp16_full_eval tf32", kSwitch, kRule, {}, {}, rules::leave_precision},
      {"fp16_backend fp16_opt_level half_precision_backend", kValue, kIgnored, kNoScaling},
      // The model, the loss and the optimizer.
      {"activation_checkpointing", kSwitch, kMeans, "--recompute"},
      {"activation_checkpointing_kwargs gradient_checkpointing_kwargs", kValue, kIgnored,
       "--recompute has no variants"},
      {"adafactor", kSwitch, kRefused, "the optimizers are --optimizer adamw and lamb"},
      {"optim_args", kValue, kRefused,
       "the optimizer's numbers are --adam-beta1, --adam-beta2 and --adam-epsilon"},
      {"optim_target_modules", kList, kRefused,
       "the optimizers are --optimizer adamw and lamb, for all parameters alike"},
      {"lr_scheduler_kwargs", kValue, kRefused, "--lr-end and --lr-power shape the schedule", "{}"},
      {"neftune_noise_alpha", kValue, kRefused,
       "berth adds no noise to embeddings; leave the flag out"},
      {"use_cache", kSwitch, kIgnored, "an encoder has no cache of keys and values"},
      {"past_index", kValue, kIgnored, "an encoder has no past states"},
      {"torch_compile jit_mode_eval", kSwitch, kIgnored, kCompiles},
      {"torch_compile_backend torch_compile_mode torchdynamo", kValue, kIgnored, kCompiles},
      {"use_liger_kernel", kSwitch, kIgnored, "berth has kernels of its own"},
      {"liger_kernel_config", kValue, kIgnored, "berth has kernels of its own"},
      // Evaluation.
      {"eval_strategy evaluation_strategy", kValue, kRule, {}, {}, rules::choose_evaluations},
      {"evaluate_during_training", kSwitch, kRule, {}, {}, rules::evaluate_at_logs},
      {"eval_all_checkpoints", kSwitch, kIgnored,
       "the summaries have the scores of every evaluation; --eval-steps says how often to "
       "evaluate"},
      {"eval_delay", kValue, kIgnored, "evaluations begin with the training"},
      {"eval_on_start", kSwitch, kIgnored,
       "berth evaluates after the first updates; --mode eval scores a model without training"},
      {"eval_accumulation_steps", kValue, kIgnored,
       "predictions of an evaluation leave the device with each batch"},
      {"eval_do_concat_batches eval_use_gather_object batch_eval_metrics "
       "include_inputs_for_metrics prediction_loss_only",
       kSwitch, kIgnored, kMetrics},
      {"include_for_metrics", kList, kIgnored, kMetrics},
      {"greater_is_better", kSwitch, kIgnored, "berth knows of each metric whether more is better"},
      // Checkpoints.
      {"save_strategy", kValue, kRule, {}, {}, rules::choose_saves},
      {"save_only_model", kSwitch, kIgnored, kResumes},
      {"save_safetensors", kSwitch, kIgnored, "berth always writes safetensors"},
      {"save_on_each_node", kSwitch, kIgnored, "worker 0 alone writes checkpoints"},
      {"enable_jit_checkpoint", kSwitch, kIgnored,
       "SIGTERM always makes a job save before it ends"},
  };
  return kRows;
}

// The same: where it runs and reports.
std::span<const SharedFate> trainer_host_flags() {
  using enum Form;
  using enum Fate;
  static constexpr std::string_view kOneMachine =
      "one process drives all devices of its machine, each with the whole model; --world-size says "
      "how many machines train together";
  static constexpr std::string_view kNoHub =
      "berth uploads nothing to the hub; after the job, `hf upload REPO JOB_DIR/model` does";
  static constexpr std::string_view kHubDetail = "berth uploads nothing to the hub";
  static constexpr std::string_view kNoTracker =
      "berth writes TensorBoard summaries into --summary-dir, and reports to no tracking service";
  static constexpr std::string_view kLogs = "the log and the summaries always tell it";

  static constexpr SharedFate kRows[] = {
      // Devices and processes.
      {"no_cuda use_cpu", kSwitch, kMeans, "--device=cpu"},
      {"use_mps_device", kSwitch, kRefused,
       "leave it out; the devices are --device cpu, tpu and gpu"},
      {"use_habana", kSwitch, kRefused, "berth trains on CPUs, TPUs and GPUs of NVIDIA"},
      {"ipu_config_name", kValue, kRefused, "berth trains on CPUs, TPUs and GPUs of NVIDIA"},
      {"gaudi_config_name", kValue, kIgnored, "berth has kernels of its own"},
      {"use_ipex", kSwitch, kIgnored, "berth has kernels of its own"},
      {"tpu_num_cores", kValue, kIgnored,
       "all TPUs of the machine share every batch; --devices takes fewer"},
      {"tpu_metrics_debug", kSwitch, kIgnored, "--log-level debug tells more"},
      {"local_rank accelerator_config parallelism_config ddp_backend xpu_backend ddp_bucket_cap_mb "
       "ddp_timeout deepspeed fsdp_config fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap "
       "mp_parameters",
       kValue, kIgnored, kOneMachine},
      {"ddp_broadcast_buffers ddp_find_unused_parameters ddp_static_graph", kSwitch, kIgnored,
       kOneMachine},
      {"fsdp sharded_ddp", kList, kIgnored, kOneMachine},
      {"ray_scope", kValue, kIgnored,
       "a study is run by a tuning service; --hypertune-metric names what it reads"},
      {"torch_empty_cache_steps", kValue, kIgnored,
       "the memory of a job is planned before the first update"},
      {"skip_memory_metrics", kSwitch, kIgnored,
       "the memory of a job is planned before the first update"},
      {"use_legacy_prediction_loop", kSwitch, kIgnored, "there is one such loop here"},
      {"debug", kList, kIgnored, "--log-level debug tells more"},
      // Reports.
      {"report_to", kList, kRefused,
       "berth writes TensorBoard summaries into --summary-dir; `wandb sync` reads them, and "
       "--report_to tensorboard is accepted, and so is mlflow, where MLFLOW_TRACKING_URI names a "
       "server",
       "tensorboard,all,mlflow"},
      {"logging_strategy", kValue, kRule, {}, {}, rules::choose_logging},
      {"logging_first_step", kSwitch, kIgnored,
       "--logging-steps 1 logs the first update and all others"},
      {"logging_nan_inf_filter", kSwitch, kIgnored,
       "an update whose loss is not finite is skipped, and the log says so"},
      {"log_level_replica", kValue, kIgnored, kOneMachine},
      {"log_on_each_node", kSwitch, kIgnored, kOneMachine},
      {"disable_tqdm", kSwitch, kIgnored,
       "there is a progress bar on a terminal only; --log-format json has none"},
      {"include_num_input_tokens_seen", kValue, kIgnored, kLogs},
      {"include_tokens_per_second", kSwitch, kIgnored, kLogs},
      {"run_name", kValue, kIgnored, "a job is named by its --job-dir"},
      {"project trackio_space_id trackio_bucket_id trackio_static_space_id", kValue, kIgnored,
       kNoTracker},
      // The hub.
      {"push_to_hub", kSwitch, kRefused, kNoHub},
      {"push_to_hub_model_id push_to_hub_organization", kValue, kRefused, kNoHub},
      {"push_to_hub_token hub_model_id hub_token hub_strategy hub_revision", kValue, kIgnored,
       kHubDetail},
      {"hub_private_repo hub_always_push", kSwitch, kIgnored, kHubDetail},
  };
  return kRows;
}

// transformers' example scripts.
std::span<const SharedFate> example_flags() {
  using enum Form;
  using enum Fate;
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
      "berth predicts all rows; name a file that holds the first rows only";
  static constexpr std::string_view kNoReferences =
      "berth finds the words of a text itself, and reads no file of their places";
  static constexpr std::string_view kLanguages =
      "name the rows of a language: --train-data-file hf://datasets/facebook/xnli/de";
  static constexpr std::string_view kDType =
      "parameters are fp32; --precision is the type of products";
  static constexpr std::string_view kMemory =
      "the memory of a job is planned before the first update";

  static constexpr std::string_view kNoDebugger = "it names a debugger of Python";

  static constexpr SharedFate kRows[] = {
      // The model.
      {"model_type", kValue, kRule, {}, {}, rules::name_architecture},
      {"tokenizer_name", kValue, kRule, {}, {}, rules::name_tokenizer},
      {"config_overrides", kValue, kRefused,
       "write the sizes into a config.json and name it with --model-config"},
      {"model_revision", kValue, kRule, {}, {}, rules::name_revision},
      {"token", kValue, kIgnored, kHubToken},
      {"use_auth_token", kSwitch, kIgnored, kHubToken},
      {"trust_remote_code", kSwitch, kIgnored, "berth runs no code that is in files"},
      {"use_fast_tokenizer use_slow_tokenizer use_fast", kSwitch, kIgnored, kTokenizer},
      {"torch_dtype", kValue, kIgnored, kDType},
      {"low_cpu_mem_usage", kSwitch, kIgnored, kMemory},
      // The data.
      {"dataset_name dataset_config_name", kValue, kRefused, kNoDataSets},
      {"train_split_name", kValue, kRefused, kSplits, "train"},
      {"validation_split_name", kValue, kRefused, kSplits, "validation"},
      {"test_split_name", kValue, kRefused, kSplits, "test"},
      {"remove_splits", kValue, kIgnored, kSplits},
      {"remove_columns", kValue, kIgnored, "columns that training does not need are not read"},
      {"text_column_names", kValue, kRule, {}, {}, rules::name_columns},
      {"text_column_delimiter", kValue, kIgnored,
       "texts of two columns are a pair, with the separator of the tokenizer between them"},
      {"max_predict_samples max_test_samples", kValue, kRefused, kAllRows},
      {"block_size", kValue, kRule, {}, {}, rules::name_block},
      {"train_ref_file validation_ref_file chinese_ref_file", kValue, kRefused, kNoReferences},
      {"language train_language", kValue, kRefused, kLanguages},
      {"validation_split_percentage", kValue, kRule, {}, {}, rules::split_percentage},
      {"shuffle_train_dataset", kSwitch, kIgnored, "the rows are shuffled anew in every epoch"},
      {"shuffle_seed", kValue, kIgnored, "--seed decides the order of the rows, too"},
      {"streaming", kSwitch, kIgnored,
       "a table may be larger than memory; it is read once, into a temporary file"},
      {"overwrite_cache", kSwitch, kIgnored, kReads},
      {"preprocessing_num_workers", kValue, kIgnored, kReads},
      {"pad_to_max_length", kSwitch, kIgnored, "batches have no padding"},
      // The task.
      {"mlm", kSwitch, kMeans, "--task=masked_lm"},
      {"whole_word_mask", kSwitch, kMeans, "--whole-word-masking"},
      {"do_regression", kSwitch, kMeans, "--task=regression"},
      {"metric_name", kValue, kRefused,
       "the task has its metrics; --metric-for-best-model chooses one",
       "accuracy,f1,precision,recall,matthews_correlation,pearsonr,spearmanr,mse,glue"},
      {"label_all_tokens", kSwitch, kRefused,
       "the first token of a word carries its tag; leave the flag out"},
      {"return_entity_level_metrics", kSwitch, kIgnored,
       "metrics.json always has the scores of every class"},
      // Of early transformers.
      {"labels", kValue, kRule, {}, {}, rules::name_tags},
      {"task_type", kValue, kRefused,
       "run_ner.py finds entities here; --task pos tags parts of speech", "ner"},
      {"lang_id", kValue, kRefused, "berth has no models with embeddings of languages"},
      {"server_ip server_port", kValue, kIgnored, kNoDebugger},
      // Of the scripts without Trainer.
      {"checkpointing_steps", kValue, kRule, {}, {}, rules::checkpoint_steps},
      {"with_tracking", kSwitch, kIgnored,
       "berth always writes TensorBoard summaries into --summary-dir"},
  };
  return kRows;
}

// google-research/bert.
std::span<const SharedFate> bert_flags() {
  using enum Form;
  using enum Fate;
  static constexpr std::string_view kNoBar = "there is a progress bar on a terminal only";
  static constexpr std::string_view kOwnTpu = "berth uses the TPU of the machine on which it runs";

  static constexpr SharedFate kRows[] = {
      // Of its first version for PyTorch.
      {"bert_model", kValue, kRule, {}, {}, rules::name_sizes},
      {"optimize_on_cpu", kSwitch, kIgnored,
       "the moments of the optimizer lie where the job computes"},
      {"amp", kSwitch, kRule, {}, {}, rules::leave_precision},
      {"eval_script", kValue, kIgnored, "berth scores the answers itself"},
      {"json_summary", kValue, kIgnored, "metrics.json has the scores"},
      {"disable_progress_bar", kSwitch, kIgnored, kNoBar},
      {"skip_checkpoint", kSwitch, kIgnored, "berth always writes the model"},
      {"skip_cache", kSwitch, kIgnored, "berth reads the rows anew in every job"},
      // Of google-research/bert.
      {"predict_file", kValue, kSame, "predict-data-file"},
      {"predict_batch_size", kValue, kSame, "eval-batch-size"},
      {"input_file", kValue, kRefused,
       "name the records of create_pretraining_data.py with --train-data-file, and give --task "
       "mlm_nsp, or --task mlm where they have no next sentences"},
      {"output_file", kValue, kRefused,
       "--mode prepare writes records into the folder --export-dir"},
      {"dupe_factor", kValue, kRefused,
       "--mode prepare writes one copy of the text. --task mlm_nsp on the text itself makes new "
       "pairs and masks in every epoch",
       "1"},
      {"short_seq_prob", kValue, kRefused, "one document in ten has shorter pairs", "0.1"},
      {"random_seed", kValue, kSame, "seed"},
      {"max_query_length", kValue, kRefused,
       "a question is always cut at 64 tokens; leave the flag out", "64"},
      {"max_predictions_per_seq", kValue, kIgnored,
       "berth masks --mlm-probability of the tokens, without another limit"},
      {"max_eval_steps", kValue, kIgnored, "berth evaluates on all rows of the file"},
      {"verbose_logging", kSwitch, kIgnored, "--log-level debug tells more"},
      // TPUs.
      {"use_tpu", kSwitch, kMeans, "--device=tpu"},
      {"num_tpu_cores", kValue, kIgnored,
       "all TPUs of the machine share every batch; --devices takes fewer"},
      {"iterations_per_loop", kValue, kIgnored, "the loop runs one update at a time"},
      {"tpu_zone gcp_project tpu_job_name master", kValue, kIgnored, kOwnTpu},
  };
  return kRows;
}

// TensorFlow Model Garden.
std::span<const SharedFate> garden_flags() {
  using enum Form;
  using enum Fate;
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

  static constexpr SharedFate kRows[] = {
      // Data and model.
      {"input_files", kValue, kRefused,
       "name the records of create_pretraining_data.py with --train-data-file, and give --task "
       "mlm_nsp, or --task mlm where they have no next sentences"},
      {"train_data_size", kValue, kIgnored, "berth counts the rows as it reads them"},
      {"use_synthetic_data", kSwitch, kRefused, "name real rows with --train-data-file"},
      {"hub_module_url tfhub_handle", kValue, kRefused, kNoHubModule},
      {"hub_module_trainable", kSwitch, kIgnored,
       "all layers train; --freeze-encoder-layers and --freeze-embeddings keep some as they are"},
      {"use_next_sentence_label", kSwitch, kRefused,
       "--task mlm_nsp trains next sentences, too, and --task mlm does not"},
      {"sub_model_export_name", kValue, kIgnored,
       "the finished model holds the encoder, in JOB_DIR/model"},
      {"clean", kSwitch, kIgnored,
       "berth deletes no job; the same command resumes the one in --job-dir, and another command "
       "is refused there"},
      // How long.
      {"train_epochs", kValue, kSame, "epochs"},
      {"num_steps_per_epoch", kValue, kIgnored, kEpochs},
      {"pretrain_steps", kValue, kRefused, kEpochs},
      {"epochs_between_evals", kValue, kRefused,
       "--eval-steps counts the updates between evaluations", "1"},
      {"stop_threshold", kValue, kRefused,
       "--early-stopping-patience stops a job that gets no better"},
      // The experiments of official/nlp/train.py.
      {"experiment params_override", kValue, kRefused, kNoConfig},
      {"config_file", kValue, kRule, {}, {}, rules::name_config_file},
      {"gin_file gin_params gin_param", kValue, kIgnored, kNoGin},
      {"tf_data_service", kValue, kIgnored, kReader},
      {"tflex_output_uri", kValue, kIgnored, "results are in --job-dir"},
      {"enable_async_checkpointing", kSwitch, kIgnored,
       "checkpoints are always written in the background"},
      // How it computes.
      {"loss_scale fp16_implementation", kValue, kIgnored, kScaling},
      {"scale_loss", kSwitch, kIgnored,
       "a loss is always the mean over all words or texts of an update"},
      {"enable_xla run_eagerly use_keras_compile_fit", kSwitch, kIgnored, kCompiles},
      {"steps_per_loop", kValue, kIgnored, "the loop runs one update at a time"},
      {"all_reduce_alg allreduce_bytes_per_pack num_packs", kValue, kIgnored, kReduces},
      {"explicit_allreduce", kSwitch, kIgnored, kReduces},
      {"tpu_platform", kValue, kIgnored, "a plugin drives the TPU: --pjrt-plugin"},
      {"worker_hosts task_index", kValue, kIgnored, kOneMachine},
      {"inter_op_parallelism_threads intra_op_parallelism_threads tf_gpu_thread_mode "
       "per_gpu_thread_count",
       kValue, kIgnored, kThreads},
      {"datasets_num_private_threads datasets_num_parallel_batches num_parallel_calls", kValue,
       kIgnored, kReader},
      {"training_dataset_cache tf_data_experimental_slack", kSwitch, kIgnored, kReader},
      // Reports.
      {"train_summary_interval", kValue, kIgnored,
       "the curves in --summary-dir have a point for every --logging-steps updates"},
      {"hooks benchmark_log_dir benchmark_logger_type benchmark_test_id bigquery_data_set "
       "bigquery_metric_table bigquery_run_status_table bigquery_run_table",
       kValue, kIgnored, kNoLogger},
  };
  return kRows;
}

}  // namespace

std::span<const ForeignFlag> foreign_flags() {
  static const std::vector<ForeignFlag> flags = [] {
    std::vector<ForeignFlag> all;
    for (const std::span<const SharedFate> rows :
         {trainer_flags(), trainer_host_flags(), example_flags(), bert_flags(), garden_flags()}) {
      for (const SharedFate& row : rows) {
        for (const std::string_view name : words_in(row.names)) {
          all.push_back({name, row.form, row.fate, row.text, row.accepted, row.rule});
        }
      }
    }
    return all;
  }();
  return flags;
}

const ForeignFlag* find_foreign_flag(std::string_view name) {
  std::string wanted(name);
  std::ranges::replace(wanted, '-', '_');
  const std::span<const ForeignFlag> flags = foreign_flags();
  const auto found = std::ranges::find(flags, wanted, &ForeignFlag::name);
  return found == flags.end() ? nullptr : &*found;
}

}  // namespace berth
