#include "entrypoint/explain/garden_experiment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "entrypoint/explain/falling_rate.h"
#include "entrypoint/explain/option_files.h"
#include "entrypoint/explain/pretraining.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

// The translation of an option of a Model Garden configuration.
enum class OptionFate {
  kFlag,     // the flag `text` with the same value, unless the value means "off"
  kSwitch,   // the flag `text`, where the option is on
  kIgnored,  // nothing: `text`, if any, says why
  kRefused,  // an error: `text` says what helps. Values that mean "off" are accepted, and so are
             // those in `accepted`.
};

struct GardenOption {
  std::string_view path;  // "task.train_data.seq_length"; one that ends with a dot is a beginning
  OptionFate fate;
  std::string_view text = {};
  std::string_view accepted = {};  // for kRefused, between spaces
  bool keeps_off = false;          // for kFlag: a value that means "off" is given, too
};

constexpr auto kGivesFlag = OptionFate::kFlag;
constexpr auto kSwitch = OptionFate::kSwitch;
constexpr auto kIgnored = OptionFate::kIgnored;
constexpr auto kIsRefused = OptionFate::kRefused;

constexpr std::string_view kHub =
    "berth reads checkpoints and model folders; name one as task.init_checkpoint";
constexpr std::string_view kDataSet =
    "name the folder of its files as input_path, or with --train-data-file and --eval-data-file";
constexpr std::string_view kRecords = "berth reads TFRecord files";
constexpr std::string_view kPlain = "berth has no such option";
constexpr std::string_view kDropout =
    "write it into the configuration of the model, as hidden_dropout_prob or "
    "attention_probs_dropout_prob";
constexpr uint64_t kLargestNumber = 1'000'000'000;
constexpr std::string_view kBest =
    "names the metric of the best checkpoint; --metric-for-best-model NAME does so, and "
    "--load-best-model-at-end makes it the result";

// Options of task.train_data and task.validation_data; `path` stands behind the section's.
constexpr GardenOption kDataRows[] = {
    {"tfds_name", kIsRefused, kDataSet},
    {"tfds_split", kIsRefused, kDataSet},
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
    {"label_name", kIsRefused, kPlain},
    {"label_field", kIsRefused, "--label-column names another one, where the rows are texts",
     "label_ids label"},
    {"file_type", kIsRefused, kRecords, "tfrecord"},
    {"tokenization", kIsRefused, "the model's files say how it tokenizes",
     "WordPiece SentencePiece"},
    {"preprocessing_hub_module_url", kIsRefused, kHub},
    {"text_fields", kIsRefused,
     "berth finds text, or sentence1 and sentence2 and their like; --text-column and "
     "--text-pair-column name others",
     "text sentence sentence1,sentence2 premise,hypothesis question,sentence question1,question2"},
    {"query_length", kIsRefused, "a question is always cut at 64 tokens", "64"},
    {"xlnet_format", kIsRefused, kPlain},
    {"max_predictions_per_seq", kIgnored},
    {"use_v2_feature_names", kIgnored},
    {"use_position_id", kIsRefused, "berth counts positions itself"},
    {"input_preprocessed_data_path", kIgnored},
};

constexpr GardenOption kGardenOptions[] = {
    {"task.init_checkpoint", kGivesFlag, "init_checkpoint"},
    {"task.hub_module_url", kIsRefused, kHub},
    {"task.init_cls_pooler", kIgnored},
    {"task.metric_type", kIgnored},
    {"task.name", kIgnored},
    {"task.scale_loss", kIgnored},
    {"task.n_best_size", kGivesFlag, "n-best-size"},
    {"task.max_answer_length", kGivesFlag, "max-answer-length"},
    {"task.null_score_diff_threshold", kGivesFlag, "null-score-diff-threshold"},
    {"task.class_names", kGivesFlag, "label-names"},
    {"task.differential_privacy_config", kIsRefused, kPlain},
    {"task.allow_image_summary", kIgnored},
    {"task.model.encoder.type", kIsRefused,
     "berth takes the architecture from the model's configuration; the experiments of BERT and "
     "ALBERT are known",
     "bert albert"},
    {"task.model.encoder.bert.dropout_rate", kIsRefused, kDropout, "0.1"},
    {"task.model.encoder.bert.attention_dropout_rate", kIsRefused, kDropout, "0.1"},
    {"task.model.encoder.", kIgnored},
    {"task.model.head_dropout", kIsRefused, kPlain, "0.1"},
    {"task.model.head_initializer_range", kIgnored},
    {"task.model.cls_heads", kIgnored},
    {"task.model.mlm_activation", kIsRefused, "the model's configuration says it", "gelu"},
    {"task.model.mlm_initializer_range", kIgnored},

    {"task.train_data.input_path", kGivesFlag, "train-data-file"},
    {"task.train_data.global_batch_size", kGivesFlag, "batch-size"},
    {"task.train_data.is_training", kIsRefused, "the rows to train on are shuffled", "true"},
    {"task.train_data.drop_remainder", kSwitch, "drop-remainder"},
    {"task.train_data.version_2_with_negative", kSwitch, "version-2-with-negative"},
    {"task.train_data.vocab_file", kGivesFlag, "vocab-file"},
    {"task.train_data.lower_case", kGivesFlag, "do-lower-case", {}, true},
    {"task.train_data.do_lower_case", kIgnored},
    {"task.train_data.doc_stride", kIgnored},
    {"task.validation_data.input_path", kGivesFlag, "eval-data-file"},
    {"task.validation_data.global_batch_size", kGivesFlag, "eval-batch-size"},
    {"task.validation_data.is_training", kIsRefused, "rows to evaluate on are not shuffled"},
    {"task.validation_data.drop_remainder", kIsRefused, "berth evaluates on all rows"},
    {"task.validation_data.version_2_with_negative", kSwitch, "version-2-with-negative"},
    {"task.validation_data.vocab_file", kGivesFlag, "vocab-file"},
    {"task.validation_data.lower_case", kGivesFlag, "do-lower-case", {}, true},
    {"task.validation_data.do_lower_case", kGivesFlag, "do-lower-case", {}, true},
    {"task.validation_data.doc_stride", kGivesFlag, "doc-stride"},

    {"trainer.checkpoint_interval", kGivesFlag, "save-steps"},
    {"trainer.max_to_keep", kGivesFlag, "save-total-limit"},
    {"trainer.validation_interval", kGivesFlag, "eval-steps"},
    {"trainer.summary_interval", kGivesFlag, "logging-steps"},
    {"trainer.best_checkpoint_eval_metric", kIgnored, kBest},
    {"trainer.best_checkpoint_export_subdir", kIgnored},
    {"trainer.best_checkpoint_metric_comp", kIgnored},
    {"trainer.optimizer_config.ema", kIsRefused, kPlain},
    {"trainer.optimizer_config.ema.", kIsRefused, kPlain},
    {"trainer.optimizer_config.", kIsRefused, kPlain},
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

    {"runtime.distribution_strategy", kGivesFlag, "distribution-strategy"},
    {"runtime.num_gpus", kGivesFlag, "num-gpus"},
    {"runtime.tpu", kGivesFlag, "tpu"},
    {"runtime.worker_hosts", kIsRefused,
     "start a worker on each host with --world-size and --rank, as docs/workers.md says"},
    {"runtime.mixed_precision_dtype", kGivesFlag, "dtype"},
    {"runtime.num_cores_per_replica", kIsRefused, kPlain, "1"},
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
    {"weight_decay_rate", kGivesFlag, "weight-decay", {}, true},
    {"beta_1", kGivesFlag, "adam-beta1"},
    {"beta_2", kGivesFlag, "adam-beta2"},
    {"epsilon", kGivesFlag, "adam-epsilon"},
    {"amsgrad", kIsRefused, kPlain},
    {"include_in_weight_decay", kIsRefused, kPlain},
    {"exclude_from_weight_decay", kIsRefused, "berth decays neither biases nor LayerNorm",
     "LayerNorm,layer_norm,bias LayerNorm,bias"},
    {"exclude_from_layer_adaptation", kIsRefused, "berth adapts neither biases nor LayerNorm",
     "LayerNorm,layer_norm,bias LayerNorm,bias"},
    {"clipnorm", kIsRefused, "berth clips the norm of all gradients: gradient_clip_norm"},
    {"clipvalue", kIsRefused, "berth clips the norm of all gradients: gradient_clip_norm"},
    {"global_clipnorm", kGivesFlag, "max-grad-norm"},
    {"power", kIsRefused, "berth's warm-up is linear", "1 1.0"},
    {"warmup_learning_rate", kIsRefused, "berth's warm-up begins from 0", "0 0.0"},
    {"cycle", kIsRefused, kPlain},
    {"offset", kIsRefused, kPlain, "0"},
    {"alpha", kIsRefused, kPlain, "0 0.0"},
    {"name", kIgnored},
};

const GardenOption* find_in(std::span<const GardenOption> rows, std::string_view path) {
  const auto found = std::ranges::find_if(rows, [&](const GardenOption& row) {
    return row.path.ends_with('.') ? path.starts_with(row.path) : path == row.path;
  });
  return found == rows.end() ? nullptr : &*found;
}

// Finds the row for an option. nullptr: there is none.
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
  return find_in(kGardenOptions, path);
}

// The options of a Model Garden configuration by their paths, "task.train_data.seq_length". A list
// is joined by commas, and an empty value is empty.
using GardenOptions = std::map<std::string, std::string>;

void add_options(const OrderedJson& value, const std::string& path, GardenOptions& options) {
  if (!value.is_object()) {
    options[path] = value.is_null() ? "" : option_text(value);
    return;
  }
  for (const auto& [key, item] : value.items()) {
    add_options(item, path.empty() ? key : cat(path, ".", key), options);
  }
}

// Cuts "a.b=1,c=[2,3],d='x,y'" at the commas between options.
std::vector<std::string> override_parts(std::string_view text) {
  std::vector<std::string> parts(1);
  char quote = 0;
  int depth = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == ']') {
      depth += c == '[' ? 1 : -1;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  return parts;
}

// A value without its quotes or brackets.
std::string bare_value(std::string_view typed) {
  std::string value(trimmed(typed));
  if (value.size() < 2) return value;
  const char first = value.front(), last = value.back();
  if (first == '[' && last == ']') {
    return joined(parted(value.substr(1, value.size() - 2), ", '\""), ",");
  }
  const bool is_quoted = first == last && (first == '\'' || first == '"');
  return is_quoted ? value.substr(1, value.size() - 2) : value;
}

// Puts the options of a configuration over the options that are there.
void add_configuration(const OrderedJson& configuration, GardenOptions& options) {
  add_options(configuration, "", options);
}

// Likewise the value of --params_override: "a.b=1,c=[2,3]", or a mapping in YAML or JSON. Throws
// kUsage where it is neither, or has a variable of a shell.
void add_overrides(const std::string& text, GardenOptions& options) {
  constexpr const char* kHint = "write them as a.b=1,c.d=2";
  if (text.find('$') != std::string::npos) {
    throw Error(Code::kUsage, "it has a variable that the line does not set", "--params_override",
                kHint);
  }
  if (text.find('=') == std::string::npos || text.starts_with('{')) {
    return add_configuration(parse_options("--params_override", text), options);
  }
  for (const std::string& part : override_parts(text)) {
    const size_t equals = part.find('=');
    if (trimmed(part).empty()) continue;
    if (equals == std::string::npos) {
      throw Error(Code::kUsage, cat(quoted(part), " has no value"), "--params_override", kHint);
    }
    options[std::string(trimmed(std::string_view(part).substr(0, equals)))] =
        bare_value(std::string_view(part).substr(equals + 1));
  }
}

constexpr std::string_view kPretrainingExperiment = "bert/pretraining";

struct Experiment {
  std::string_view name, task, learning_rate;
  std::string_view batch_size, seq_length;
};

constexpr Experiment kExperiments[] = {
    {"bert/sentence_prediction", "sequence_classification", "3e-5", "32", "128"},
    {"bert/sentence_prediction_text", "sequence_classification", "3e-5", "32", "128"},
    {"bert/squad", "question_answering", "8e-5", "48", "384"},
    {"bert/tagging", "token_classification", "8e-5", "", "128"},
    {kPretrainingExperiment, "mlm_nsp", "1e-4", "512", "512"},
};

const std::string kOptimizer = "trainer.optimizer_config.optimizer";
const std::string kRateOption = "trainer.optimizer_config.learning_rate";
const std::string kWarmup = "trainer.optimizer_config.warmup";

// What all of them begin with, where berth has another default.
constexpr std::pair<std::string_view, std::string_view> kDefaults[] = {
    {"task.train_data.drop_remainder", "true"},
    {"trainer.checkpoint_interval", "1000"},
    {"trainer.max_to_keep", "5"},
    {"trainer.optimizer_config.learning_rate.constant.learning_rate", "0.1"},
    {"trainer.optimizer_config.learning_rate.polynomial.end_learning_rate", "0"},
    {"trainer.optimizer_config.learning_rate.polynomial.power", "1"},
    {"trainer.optimizer_config.learning_rate.type", "polynomial"},
    {"trainer.optimizer_config.optimizer.adamw.epsilon", "1e-7"},
    {"trainer.optimizer_config.optimizer.adamw.weight_decay_rate", "0.01"},
    {"trainer.optimizer_config.optimizer.lamb.epsilon", "1e-6"},
    {"trainer.optimizer_config.optimizer.lamb.weight_decay_rate", "0"},
    {"trainer.optimizer_config.optimizer.type", "adamw"},
    {"trainer.optimizer_config.warmup.type", "polynomial"},
    {"trainer.validation_interval", "1000"},
};

bool is_off(const std::string& text) {
  const std::string lower = lower_ascii(text);
  return lower.empty() || lower == "none" || lower == "null" || lower == "false";
}

class ExperimentReader {
 public:
  ExperimentReader(const ReadFile& read_file, Launch& launch)
      : read_file_(read_file), launch_(launch) {}

  void read() {
    const std::vector<std::string> names = take_flag("experiment");
    if (names.empty()) return;
    launch_.script = kExperimentScript;
    const auto known = std::ranges::find(kExperiments, names.back(), &Experiment::name);
    if (known == std::end(kExperiments)) return refuse_experiment(names.back());
    begin(*known);
    for (const std::string& path : take_flag("config_file")) read_file_of_options(path);
    for (const std::string& text : take_flag("params_override")) read_override(text);
    translate(*known);
  }

 private:
  // Takes the values of a flag off the line.
  std::vector<std::string> take_flag(std::string_view name) {
    std::vector<std::string> values, rest;
    std::vector<std::string>& flags = launch_.flags;
    for (size_t i = 0; i < flags.size(); ++i) {
      const size_t equals = flags[i].find('=');
      const std::string_view typed = std::string_view(flags[i]).substr(0, equals);
      const size_t dashes = std::min(typed.find_first_not_of('-'), typed.size());
      if (dashes > 0 && typed.substr(dashes) == name) {
        if (equals != std::string::npos) {
          values.push_back(flags[i].substr(equals + 1));
        } else if (i + 1 < flags.size()) {
          values.push_back(flags[++i]);
        }
      } else {
        rest.push_back(flags[i]);
      }
    }
    flags = std::move(rest);
    return values;
  }

  void refuse_experiment(const std::string& name) {
    take_flag("config_file");
    take_flag("params_override");
    const bool masks = name.find("pretrain") != std::string::npos;
    launch_.refuse(
        cat("--experiment ", name),
        masks ? "makes its examples as it trains. explain knows bert/pretraining, which reads the "
                "records of create_pretraining_data.py; --task mlm_nsp and --task electra read the "
                "text itself"
              : "is none of bert/pretraining, bert/sentence_prediction, "
                "bert/sentence_prediction_text, bert/squad and bert/tagging, whose options berth "
                "knows");
  }

  void begin(const Experiment& experiment) {
    for (const std::string side : {"task.train_data", "task.validation_data"}) {
      if (!experiment.batch_size.empty()) {
        options_[side + ".global_batch_size"] = experiment.batch_size;
      }
      options_[side + ".seq_length"] = experiment.seq_length;
    }
    options_[kRateOption + ".polynomial.initial_learning_rate"] = experiment.learning_rate;
    if (experiment.name == kPretrainingExperiment) options_["trainer.train_steps"] = "1000000";
    for (const auto& [path, value] : kDefaults) options_[std::string(path)] = value;
  }

  void read_file_of_options(const std::string& path) {
    if (const auto configuration = read_options(read_file_, path, launch_)) {
      add_configuration(*configuration, options_);
    }
  }

  void read_override(const std::string& text) {
    if (text.ends_with(".yaml") || text.ends_with(".yml")) return read_file_of_options(text);
    try {
      add_overrides(text, options_);
    } catch (const Error& error) {
      launch_.refuse("--params_override", cat("is not read: ", error.problem()));
    }
  }

  // The value of an option, which is read here and by no row of the table.
  std::string take(const std::string& path) {
    const auto found = options_.find(path);
    if (found == options_.end()) return "";
    std::string value = found->second;
    options_.erase(found);
    return value;
  }

  void translate(const Experiment& experiment) {
    add_task(experiment);
    add_length();
    add_evaluated_rows();
    add_optimizer();
    add_schedule();
    for (const auto& [path, value] : options_) translate_option(path, value);
  }

  void translate_option(const std::string& path, const std::string& value) {
    const GardenOption* option = find_garden_option(path);
    if (option == nullptr) {
      return launch_.refuse(path, "is an option of the configuration that berth does not know");
    }
    switch (option->fate) {
      case OptionFate::kFlag:
        if (path.ends_with(".input_path") && value.find(',') != std::string::npos) {
          return launch_.refuse(path, kSeveralFiles);
        }
        if (!is_off(value) || option->keeps_off) launch_.add_flag(option->text, value);
        return;
      case OptionFate::kSwitch:
        if (!is_off(value)) launch_.add_flag(option->text, "true");
        return;
      case OptionFate::kIgnored:
        if (!option->text.empty() && !is_off(value)) launch_.remark(path, option->text);
        return;
      case OptionFate::kRefused:
        if (is_off(value)) return;
        for (const std::string& accepted : parted(option->accepted, " ")) {
          if (lower_ascii(value) == lower_ascii(accepted)) return;
        }
        return launch_.refuse(path, cat("is ", quoted(value), " there: ", option->text));
    }
  }

  void add_task(const Experiment& experiment) {
    std::string task(experiment.task);
    const std::string classes = take("task.model.num_classes");
    const std::string type = take("task.train_data.label_type");
    take("task.validation_data.label_type");
    if (task == "sequence_classification") {
      if (classes == "1" || type == "float") task = "regression";
      if (is_off(take("task.model.use_encoder_pooler"))) {
        launch_.remark(
            "task.model.use_encoder_pooler",
            "is off there, so the layer above [CLS] begins from random numbers; in berth it "
            "begins from the checkpoint's");
      }
    }
    if (experiment.name == kPretrainingExperiment) task = pretraining_task();
    launch_.add_flag("task", task);
    const std::string encoder = "task.model.encoder";
    const auto first = options_.lower_bound(encoder + ".");
    if (first != options_.end() && first->first.starts_with(encoder)) {
      launch_.remark(encoder, "is not read: the configuration of the model says its sizes");
    }
  }

  // Masked tokens alone, where the records have no next sentences or these are not read.
  std::string pretraining_task() {
    const std::string next = take("task.train_data.use_next_sentence_label");
    const std::string scored = take("task.validation_data.use_next_sentence_label");
    const bool has_next = next.empty() || !is_off(next);
    if (has_next != (scored.empty() || !is_off(scored))) {
      launch_.refuse("task.validation_data.use_next_sentence_label",
                     "is another one than in training; berth has one task for both");
    }
    if (!has_next) return "mlm";
    launch_.remark("task.model.cls_heads",
                   "drops some of what the head for next sentences reads there; berth's does not");
    return "mlm_nsp";
  }

  // An evaluation of some batches scores the first rows.
  void add_evaluated_rows() {
    const std::string steps = take("trainer.validation_steps");
    const std::optional<uint64_t> batches = parse_number(steps),
                                  rows = parse_number(option("task.validation_data."
                                                             "global_batch_size"));
    const bool has_rows = !option("task.validation_data.input_path").empty();
    if (!batches || *batches == 0 || !has_rows) return;
    if (!rows || *rows > kLargestNumber || *batches > kLargestNumber) {
      return launch_.refuse("trainer.validation_steps",
                            "counts batches, and their size is not in the options");
    }
    launch_.add_flag("max-eval-samples", std::to_string(*batches * *rows));
  }

  std::string option(const std::string& path) const {
    const auto found = options_.find(path);
    return found == options_.end() ? "" : found->second;
  }

  // Forgets the options of the types that are not chosen.
  void keep_only(const std::string& section, const std::string& type) {
    std::erase_if(options_, [&](const auto& option) {
      return option.first.starts_with(section + ".") &&
             !option.first.starts_with(cat(section, ".", type, "."));
    });
  }

  void add_length() {
    const std::string length = take("task.train_data.seq_length");
    const std::string other = take("task.validation_data.seq_length");
    launch_.add_flag("max-seq-length", length);
    if (other != length) {
      launch_.refuse(
          "task.validation_data.seq_length",
          cat("is ", other, " and ", length, " in training; berth has one length for both"));
    }
  }

  void add_optimizer() {
    const std::string prefix = kOptimizer + ".";
    const std::string type = take(prefix + "type");
    if (type != "adamw" && type != "lamb") {
      launch_.refuse(prefix + "type", cat("is ", quoted(type), "; berth has adamw and lamb"));
    }
    if (type == "lamb") launch_.add_flag("optimizer", "lamb");
    keep_only(kOptimizer, type);
    const std::string clipped = take(prefix + type + ".gradient_clip_norm");
    launch_.add_flag("max-grad-norm", type != "adamw" ? "0" : clipped.empty() ? "1" : clipped);
  }

  // The rate falls from the first update on there, also while it warms up to what it has fallen to.
  // Here it falls after the warm-up. A lower rate makes both the same.
  void add_schedule() {
    const std::string steps = take("trainer.train_steps");
    const std::optional<double> updates = parse_real(steps);
    if (!updates || !std::isfinite(*updates) || *updates < 1) {
      keep_only(kRateOption, "");
      keep_only(kWarmup, "");
      return launch_.refuse("trainer.train_steps", "is not said; add trainer.train_steps=N");
    }
    launch_.add_flag("max-steps", steps);
    const std::string type = take(kRateOption + ".type");
    const std::string warmup = take(kWarmup + ".type");
    const std::string warmup_steps = take(cat(kWarmup, ".", warmup, ".warmup_steps"));
    if (warmup != "polynomial" && warmup != "linear" && !is_off(warmup)) {
      launch_.refuse(kWarmup + ".type", cat("is ", quoted(warmup), "; berth's warm-up is linear"));
    }
    const double warm = parse_real(warmup_steps).value_or(0);
    launch_.add_flag("warmup-steps", is_off(warmup_steps) ? "0" : warmup_steps);
    const std::string below = cat(kRateOption, ".", type, ".");
    std::string decay_steps = take(below + "decay_steps");
    if (decay_steps.empty()) decay_steps = steps;
    if (type == "constant") {
      launch_.add_flag("learning-rate", take(below + "learning_rate"));
      launch_.add_flag("lr-scheduler-type", "constant_with_warmup");
    } else if (type != "polynomial" && (type != "cosine" || warm > 0)) {
      launch_.refuse(kRateOption + ".type",
                     cat("is ", quoted(type), warm > 0 ? " with a warm-up" : "",
                         "; --lr-scheduler-type says which berth has"));
    } else if (parse_real(decay_steps) != updates) {
      launch_.refuse(below + "decay_steps", cat("is ", decay_steps, " and train_steps ", steps,
                                                "; in berth the rate falls until "
                                                "the training ends"));
    } else if (type == "cosine") {
      launch_.add_flag("learning-rate", take(below + "initial_learning_rate"));
      launch_.add_flag("lr-scheduler-type", "cosine");
    } else {
      add_polynomial(below, *updates, warm);
    }
    for (const char* read : {"initial_learning_rate", "end_learning_rate", "power"}) {
      take(below + read);
    }
    keep_only(kRateOption, type);
    keep_only(kWarmup, warmup);
  }

  void add_polynomial(const std::string& below, double updates, double warm) {
    const std::string typed = take(below + "initial_learning_rate");
    const std::string end_text = take(below + "end_learning_rate");
    const std::string power_text = take(below + "power");
    const std::optional<double> rate = parse_real(typed), end = parse_real(end_text),
                                power = parse_real(power_text);
    const bool is_schedule = rate && end && power;
    const double peak =
        is_schedule ? rate_after_warmup(
                          {.rate = *rate, .end = *end, .power = *power, .warmup = warm / updates})
                    : NAN;
    if (!std::isfinite(peak)) {
      return launch_.refuse(below + "initial_learning_rate",
                            "is no learning rate together with the other numbers of the schedule");
    }
    launch_.add_flag("learning-rate", warm > 0 ? rate_text(peak) : typed);
    if (warm > 0) {
      launch_.remark(below + "initial_learning_rate",
                     cat("is ", typed,
                         " there, from which the rate falls during the warm-up, too; "
                         "--learning-rate is what it has fallen to when the warm-up ends"));
    }
    if (*end == 0 && *power == 1) return;
    launch_.add_flag("lr-scheduler-type", "polynomial");
    launch_.add_flag("lr-end", end_text);
    launch_.add_flag("lr-power", power_text);
  }

  const ReadFile& read_file_;
  Launch& launch_;
  GardenOptions options_;
};

}  // namespace

void read_experiment(const ReadFile& read_file, Launch& launch) {
  ExperimentReader(read_file, launch).read();
}

}  // namespace berth
