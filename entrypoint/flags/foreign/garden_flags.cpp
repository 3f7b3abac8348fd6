#include "entrypoint/flags/foreign/foreign_flag.h"
#include "entrypoint/flags/foreign/foreign_rules.h"

namespace berth {

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
       "berth masks texts anew in every epoch instead of reading masked examples: give --task mlm "
       "and --train-data-file with the text, or shards that --mode prepare made of it"},
      {"train_data_size", Form::kValue, Fate::kIgnored, "berth counts the rows as it reads them"},
      {"use_synthetic_data", Form::kSwitch, Fate::kRefused,
       "name real rows with --train-data-file"},
      {"hub_module_url", Form::kValue, Fate::kRefused, kNoHubModule},
      {"tfhub_handle", Form::kValue, Fate::kRefused, kNoHubModule},
      {"hub_module_trainable", Form::kSwitch, Fate::kIgnored,
       "all layers train; --freeze-encoder-layers and --freeze-embeddings keep some as they are"},
      {"use_next_sentence_label", Form::kSwitch, Fate::kIgnored,
       "berth pre-trains by masked tokens alone, as RoBERTa does"},
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
