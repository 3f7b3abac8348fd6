#include "entrypoint/flags/foreign/own_values.h"

#include <charconv>

#include "storage/base/text.h"
#include "storage/hub/hub_path.h"

namespace berth {
namespace {

struct OtherValue {
  std::string_view flag, other, own;
};

constexpr OtherValue kValues[] = {
    {"max-steps", "-1", "0"},
    {"save-steps", "-1", "0"},
    {"eval-steps", "-1", "0"},
    {"log-level", "passive", "info"},
    {"log-level", "detail", "debug"},
    {"log-level", "critical", "error"},
    // AdamW is one function, however it is implemented.
    {"optimizer", "adamw_torch_fused", "adamw"},
    {"optimizer", "adamw_torch_xla", "adamw"},
    {"optimizer", "adamw_torch_npu_fused", "adamw"},
    {"optimizer", "adamw_apex_fused", "adamw"},
};

// Whether a strategy of Trainer other than "steps" says when to evaluate or to save.
bool has_other_strategy(const TypedCommand& command, const std::string& flag) {
  const auto says = [&](std::string_view strategy) {
    const std::optional<std::string> value = command.value(strategy);
    return value && lower_ascii(*value) != "steps";
  };
  if (flag == "eval-steps") return says("eval_strategy") || says("evaluation_strategy");
  return flag == "save-steps" && says("save_strategy");
}

// Newer versions of Trainer take a fraction of all updates here.
bool is_warmup_ratio(const std::string& value) {
  double steps = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), steps);
  return error == std::errc() && end == value.data() + value.size() && steps > 0 && steps < 1;
}

// Trainer's --label_names lists keys of its batches, and ours lists classes.
bool names_a_key(const std::string& value) {
  return value == "labels" || value == "label" || value == "start_positions";
}

// "-1" for "-1.0", as YAML and spreadsheets write whole numbers.
std::string_view without_zeros(std::string_view value) {
  const size_t point = value.find('.');
  if (point == std::string_view::npos || point + 1 == value.size()) return value;
  const bool is_whole = value.find_first_not_of('0', point + 1) == std::string_view::npos;
  return is_whole ? value.substr(0, point) : value;
}

std::string own_value(const std::string& flag, const std::string& value) {
  for (const OtherValue& row : kValues) {
    if (flag == row.flag && lower_ascii(without_zeros(value)) == row.other) {
      return std::string(row.own);
    }
  }
  if (flag == "metric-for-best-model" && value.starts_with("eval_")) return value.substr(5);
  return value;
}

// A model of the Hugging Face Hub with its revision: ORG/NAME@REVISION. Other models have none.
std::string with_revision(const TypedCommand& command, const std::string& model) {
  const std::string revision = command.value("model_revision").value_or("main");
  const bool is_name = hub_uri_of(model).has_value() && model.find('@') == std::string::npos;
  return is_name && revision != "main" ? cat(model, "@", revision) : model;
}

}  // namespace

void translate_own(const TypedCommand& command, const TypedArgument& argument,
                   Translation& translation) {
  const std::string& flag = argument.own->name;
  if (has_other_strategy(command, flag)) return;
  if (!argument.values.empty()) {
    const std::string& value = argument.values[0];
    if (flag == "warmup-steps" && is_warmup_ratio(value)) {
      return translation.add("--warmup-ratio=" + value);
    }
    if (flag == "label-names" && names_a_key(value)) {
      return translation.note(argument, "--label-column names the labels' column");
    }
    if (flag == "mode" && lower_ascii(value) == "train_and_predict") {
      translation.predicts_afterwards = true;
      translation.note(argument, "train_and_predict predicts by a second run, in --mode predict");
      return translation.add("--mode=train");
    }
    const std::string own =
        flag == "model" ? with_revision(command, value) : own_value(flag, value);
    if (own != value) return translation.add(cat(argument.typed, "=", own));
  }
  translation.command.add(argument);
}

}  // namespace berth
