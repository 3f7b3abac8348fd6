#include "entrypoint/explain/garden_options.h"

#include <algorithm>
#include <span>

namespace berth {
namespace {

constexpr auto kFlag = OptionFate::kFlag;
constexpr auto kSwitch = OptionFate::kSwitch;
constexpr auto kIgnored = OptionFate::kIgnored;
constexpr auto kRefused = OptionFate::kRefused;

constexpr std::string_view kHub =
    "berth reads checkpoints and model folders; name one as task.init_checkpoint";
constexpr std::string_view kDataSet =
    "name the folder of its files as input_path, or with --train-data-file and --eval-data-file";
constexpr std::string_view kRecords = "berth reads TFRecord files";
constexpr std::string_view kPlain = "berth has no such option";
constexpr std::string_view kDropout =
    "write it into the configuration of the model, as hidden_dropout_prob or "
    "attention_probs_dropout_prob";
constexpr std::string_view kAllRows = "counts batches of rows; berth evaluates on all rows";
constexpr std::string_view kBest =
    "names the metric of the best checkpoint; --metric-for-best-model NAME does so, and "
    "--load-best-model-at-end makes it the result";

// Options of task.train_data and task.validation_data; `path` stands behind the section's.
constexpr GardenOption kDataRows[] = {
    {"tfds_name", kRefused, kDataSet},
    {"tfds_split", kRefused, kDataSet},
    {"tfds_data_dir", kIgnored},
    {"tfds_as_supervised", kIgnored},
    {"tfds_skip_decoding_feature", kIgnored},
    {"shuffle_buffer_size", kIgnored},
    {"cache", kIgnored},
    {"cycle_length", kIgnored},
    {"block_length", kIgnored},
    {"deterministic", kIgnored},
    {"sharding", kIgnored},
    {"seed", kIgnored},
    {"enable_tf_data_service", kIgnored},
    {"tf_data_service_address", kIgnored},
    {"tf_data_service_job_name", kIgnored},
    {"enable_shared_tf_data_service_between_parallel_trainers", kIgnored},
    {"apply_tf_data_service_before_batching", kIgnored},
    {"trainer_id", kIgnored},
    {"prefetch_buffer_size", kIgnored},
    {"include_example_id", kIgnored},
    {"include_sentence_id", kIgnored},
    {"label_name", kRefused, kPlain},
    {"label_field", kRefused, "--label-column names another one, where the rows are texts",
     "label_ids label"},
    {"file_type", kRefused, kRecords, "tfrecord"},
    {"tokenization", kRefused, "the model's files say how it tokenizes", "WordPiece SentencePiece"},
    {"preprocessing_hub_module_url", kRefused, kHub},
    {"text_fields", kRefused,
     "berth finds text, or sentence1 and sentence2 and their like; --text-column and "
     "--text-pair-column name others",
     "text sentence sentence1,sentence2 premise,hypothesis question,sentence question1,question2"},
    {"query_length", kRefused, "a question is always cut at 64 tokens", "64"},
    {"xlnet_format", kRefused, kPlain},
    {"input_preprocessed_data_path", kIgnored},
};

constexpr GardenOption kRows[] = {
    {"task.init_checkpoint", kFlag, "init_checkpoint"},
    {"task.hub_module_url", kRefused, kHub},
    {"task.init_cls_pooler", kIgnored},
    {"task.metric_type", kIgnored},
    {"task.name", kIgnored},
    {"task.n_best_size", kFlag, "n-best-size"},
    {"task.max_answer_length", kFlag, "max-answer-length"},
    {"task.null_score_diff_threshold", kFlag, "null-score-diff-threshold"},
    {"task.class_names", kFlag, "label-names"},
    {"task.differential_privacy_config", kRefused, kPlain},
    {"task.allow_image_summary", kIgnored},
    {"task.model.encoder.type", kRefused,
     "berth takes the architecture from the model's configuration; the experiments of BERT and "
     "ALBERT are known",
     "bert albert"},
    {"task.model.encoder.bert.dropout_rate", kRefused, kDropout, "0.1"},
    {"task.model.encoder.bert.attention_dropout_rate", kRefused, kDropout, "0.1"},
    {"task.model.encoder.", kIgnored},
    {"task.model.head_dropout", kRefused, kPlain, "0.1"},
    {"task.model.head_initializer_range", kIgnored},

    {"task.train_data.input_path", kFlag, "train-data-file"},
    {"task.train_data.global_batch_size", kFlag, "batch-size"},
    {"task.train_data.is_training", kRefused, "the rows to train on are shuffled", "true"},
    {"task.train_data.drop_remainder", kSwitch, "drop-remainder"},
    {"task.train_data.version_2_with_negative", kSwitch, "version-2-with-negative"},
    {"task.train_data.vocab_file", kFlag, "vocab-file"},
    {"task.train_data.lower_case", kFlag, "do-lower-case", {}, true},
    {"task.train_data.do_lower_case", kIgnored},
    {"task.train_data.doc_stride", kIgnored},
    {"task.validation_data.input_path", kFlag, "eval-data-file"},
    {"task.validation_data.global_batch_size", kFlag, "eval-batch-size"},
    {"task.validation_data.is_training", kRefused, "rows to evaluate on are not shuffled"},
    {"task.validation_data.drop_remainder", kRefused, "berth evaluates on all rows"},
    {"task.validation_data.version_2_with_negative", kSwitch, "version-2-with-negative"},
    {"task.validation_data.vocab_file", kFlag, "vocab-file"},
    {"task.validation_data.lower_case", kFlag, "do-lower-case", {}, true},
    {"task.validation_data.do_lower_case", kFlag, "do-lower-case", {}, true},
    {"task.validation_data.doc_stride", kFlag, "doc-stride"},

    {"trainer.checkpoint_interval", kFlag, "save-steps"},
    {"trainer.max_to_keep", kFlag, "save-total-limit"},
    {"trainer.validation_interval", kFlag, "eval-steps"},
    {"trainer.summary_interval", kFlag, "logging-steps"},
    {"trainer.validation_steps", kIgnored, kAllRows},
    {"trainer.best_checkpoint_eval_metric", kIgnored, kBest},
    {"trainer.best_checkpoint_export_subdir", kIgnored},
    {"trainer.best_checkpoint_metric_comp", kIgnored},
    {"trainer.optimizer_config.ema", kRefused, kPlain},
    {"trainer.optimizer_config.ema.", kRefused, kPlain},
    {"trainer.optimizer_config.", kRefused, kPlain},
    {"trainer.steps_per_loop", kIgnored},
    {"trainer.train_tf_while_loop", kIgnored},
    {"trainer.train_tf_function", kIgnored},
    {"trainer.eval_tf_while_loop", kIgnored},
    {"trainer.eval_tf_function", kIgnored},
    {"trainer.allow_tpu_summary", kIgnored},
    {"trainer.continuous_eval_timeout", kIgnored},
    {"trainer.loss_upper_bound", kIgnored},
    {"trainer.recovery_begin_steps", kIgnored},
    {"trainer.recovery_max_trials", kIgnored},
    {"trainer.validation_summary_subdir", kIgnored},
    {"trainer.preemption_on_demand_checkpoint", kIgnored},

    {"runtime.distribution_strategy", kFlag, "distribution-strategy"},
    {"runtime.num_gpus", kFlag, "num-gpus"},
    {"runtime.tpu", kFlag, "tpu"},
    {"runtime.worker_hosts", kRefused,
     "start a worker on each host with --world-size and --rank, as docs/workers.md says"},
    {"runtime.mixed_precision_dtype", kFlag, "dtype"},
    {"runtime.num_cores_per_replica", kRefused, kPlain, "1"},
    {"runtime.all_reduce_alg", kIgnored},
    {"runtime.batchnorm_spatial_persistent", kIgnored},
    {"runtime.dataset_num_private_threads", kIgnored},
    {"runtime.default_shard_dim", kIgnored},
    {"runtime.enable_xla", kIgnored},
    {"runtime.gpu_thread_mode", kIgnored},
    {"runtime.loss_scale", kIgnored},
    {"runtime.num_packs", kIgnored},
    {"runtime.per_gpu_thread_count", kIgnored},
    {"runtime.run_eagerly", kIgnored},
    {"runtime.task_index", kIgnored},
    {"runtime.tpu_enable_xla_dynamic_padder", kIgnored},
};

// Options below trainer.optimizer_config.optimizer.TYPE, learning_rate.TYPE and warmup.TYPE, by
// their last names.
constexpr GardenOption kOptimizerRows[] = {
    {"weight_decay_rate", kFlag, "weight-decay", {}, true},
    {"beta_1", kFlag, "adam-beta1"},
    {"beta_2", kFlag, "adam-beta2"},
    {"epsilon", kFlag, "adam-epsilon"},
    {"amsgrad", kRefused, kPlain},
    {"include_in_weight_decay", kRefused, kPlain},
    {"exclude_from_weight_decay", kRefused, "berth decays neither biases nor LayerNorm",
     "LayerNorm,layer_norm,bias LayerNorm,bias"},
    {"exclude_from_layer_adaptation", kRefused, "berth adapts neither biases nor LayerNorm",
     "LayerNorm,layer_norm,bias LayerNorm,bias"},
    {"clipnorm", kRefused, "berth clips the norm of all gradients: gradient_clip_norm"},
    {"clipvalue", kRefused, "berth clips the norm of all gradients: gradient_clip_norm"},
    {"global_clipnorm", kFlag, "max-grad-norm"},
    {"power", kRefused, "berth's warm-up is linear", "1 1.0"},
    {"warmup_learning_rate", kRefused, "berth's warm-up begins from 0", "0 0.0"},
    {"cycle", kRefused, kPlain},
    {"offset", kRefused, kPlain, "0"},
    {"alpha", kRefused, kPlain, "0 0.0"},
    {"name", kIgnored},
};

const GardenOption* find_in(std::span<const GardenOption> rows, std::string_view path) {
  const auto found = std::ranges::find_if(rows, [&](const GardenOption& row) {
    return row.path.ends_with('.') ? path.starts_with(row.path) : path == row.path;
  });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

const GardenOption* find_garden_option(std::string_view path) {
  for (const std::string_view section : {"task.train_data.", "task.validation_data."}) {
    if (!path.starts_with(section)) continue;
    if (const GardenOption* row = find_in(kDataRows, path.substr(section.size()))) return row;
  }
  for (const std::string_view part : {"optimizer.", "learning_rate.", "warmup."}) {
    constexpr std::string_view kPrefix = "trainer.optimizer_config.";
    if (!path.starts_with(kPrefix) || !path.substr(kPrefix.size()).starts_with(part)) continue;
    if (const GardenOption* row = find_in(kOptimizerRows, path.substr(path.rfind('.') + 1))) {
      return row;
    }
  }
  return find_in(kRows, path);
}

}  // namespace berth
