#include "entrypoint/explain/garden_experiment.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "entrypoint/explain/garden_configuration.h"
#include "entrypoint/explain/garden_options.h"
#include "entrypoint/explain/option_files.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

struct Experiment {
  std::string_view name, task, learning_rate;
  std::string_view batch_size, seq_length;
};

constexpr Experiment kExperiments[] = {
    {"bert/sentence_prediction", "sequence_classification", "3e-5", "32", "128"},
    {"bert/sentence_prediction_text", "sequence_classification", "3e-5", "32", "128"},
    {"bert/squad", "question_answering", "8e-5", "48", "384"},
    {"bert/tagging", "token_classification", "8e-5", "", "128"},
};

const std::string kOptimizer = "trainer.optimizer_config.optimizer";
const std::string kRate = "trainer.optimizer_config.learning_rate";
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

std::string rate_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

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
        masks ? "is pre-training from examples that are masked before, with next sentences or "
                "replaced tokens; --task mlm and --task electra pre-train on the text itself"
              : "is none of bert/sentence_prediction, bert/sentence_prediction_text, bert/squad "
                "and bert/tagging, whose options berth knows");
  }

  void begin(const Experiment& experiment) {
    for (const std::string side : {"task.train_data", "task.validation_data"}) {
      if (!experiment.batch_size.empty()) {
        options_[side + ".global_batch_size"] = experiment.batch_size;
      }
      options_[side + ".seq_length"] = experiment.seq_length;
    }
    options_[kRate + ".polynomial.initial_learning_rate"] = experiment.learning_rate;
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
        if (!is_off(value) || option->keeps_off) launch_.add_flag(option->text, value);
        return;
      case OptionFate::kSwitch:
        if (!is_off(value)) launch_.add_flag(option->text, "true");
        return;
      case OptionFate::kIgnored:
        if (!option->text.empty() && !is_off(value))
          launch_.remark(path, std::string(option->text));
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
    launch_.add_flag("task", task);
    const std::string encoder = "task.model.encoder";
    const auto first = options_.lower_bound(encoder + ".");
    if (first != options_.end() && first->first.starts_with(encoder)) {
      launch_.remark(encoder, "is not read: the configuration of the model says its sizes");
    }
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
  // Here it falls after the warm-up. A lower rate makes both the same: with end_learning_rate e,
  // warm-up w and T updates, e + (rate - e) * (1 - w / T)^power.
  void add_schedule() {
    const std::string steps = take("trainer.train_steps");
    const std::optional<double> updates = parse_real(steps);
    if (!updates || !std::isfinite(*updates) || *updates < 1) {
      keep_only(kRate, "");
      keep_only(kWarmup, "");
      return launch_.refuse("trainer.train_steps", "is not said; add trainer.train_steps=N");
    }
    launch_.add_flag("max-steps", steps);
    const std::string type = take(kRate + ".type");
    const std::string warmup = take(kWarmup + ".type");
    const std::string warmup_steps = take(cat(kWarmup, ".", warmup, ".warmup_steps"));
    if (warmup != "polynomial" && warmup != "linear" && !is_off(warmup)) {
      launch_.refuse(kWarmup + ".type", cat("is ", quoted(warmup), "; berth's warm-up is linear"));
    }
    const double warm = parse_real(warmup_steps).value_or(0);
    launch_.add_flag("warmup-steps", is_off(warmup_steps) ? "0" : warmup_steps);
    const std::string below = cat(kRate, ".", type, ".");
    std::string decay_steps = take(below + "decay_steps");
    if (decay_steps.empty()) decay_steps = steps;
    if (type == "constant") {
      launch_.add_flag("learning-rate", take(below + "learning_rate"));
      launch_.add_flag("lr-scheduler-type", "constant_with_warmup");
    } else if (type != "polynomial" && (type != "cosine" || warm > 0)) {
      launch_.refuse(kRate + ".type", cat("is ", quoted(type), warm > 0 ? " with a warm-up" : "",
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
    keep_only(kRate, type);
    keep_only(kWarmup, warmup);
  }

  void add_polynomial(const std::string& below, double updates, double warm) {
    const std::string typed = take(below + "initial_learning_rate");
    const std::string end_text = take(below + "end_learning_rate");
    const std::string power_text = take(below + "power");
    const std::optional<double> rate = parse_real(typed), end = parse_real(end_text),
                                power = parse_real(power_text);
    const bool is_schedule = rate && end && power && warm >= 0 && warm < updates;
    const double peak =
        is_schedule ? *end + (*rate - *end) * std::pow(1 - warm / updates, *power) : NAN;
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
