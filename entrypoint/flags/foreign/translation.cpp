#include "entrypoint/flags/foreign/translation.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/foreign/foreign_rules.h"
#include "storage/base/error.h"
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

// Trainer prints both of its arguments, and takes the steps where they are not 0.
bool has_warmup_ratio(const TypedCommand& command) {
  const std::string text = command.value("warmup-ratio").value_or("");
  double ratio = 0;
  std::from_chars(text.data(), text.data() + text.size(), ratio);
  return ratio > 0;
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

// Adds `argument`, which is one of berth's flags, with berth's value for another program's meaning:
// `--max_steps -1` of Trainer is `--max-steps 0`. Leaves out --eval-steps and --save-steps where a
// strategy of Trainer takes their place.
void translate_own(const TypedCommand& command, const TypedArgument& argument,
                   Translation& translation) {
  const std::string& flag = argument.own->name;
  if (has_other_strategy(command, flag)) return;
  if (!argument.values.empty()) {
    const std::string& value = argument.values[0];
    if (flag == "warmup-steps" && is_warmup_ratio(value)) {
      return translation.add("--warmup-ratio=" + value);
    }
    if (flag == "warmup-steps" && has_warmup_ratio(command)) {
      if (without_zeros(value) == "0") return;
      translation.note(argument, "says how long the warm-up is, and --warmup-ratio does not");
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

// The row that `name` or the negated `name` means, as --no_x and --nox mean x.
const ForeignFlag* find_foreign_spelling(const std::string& name, bool& is_negated) {
  is_negated = false;
  if (const ForeignFlag* flag = find_foreign_flag(name)) return flag;
  for (const std::string_view prefix : {"no_", "no-", "no"}) {
    if (!name.starts_with(prefix)) continue;
    const ForeignFlag* flag = find_foreign_flag(name.substr(prefix.size()));
    if (flag == nullptr || flag->form != Form::kSwitch) continue;
    is_negated = true;
    return flag;
  }
  return nullptr;
}

bool is_flag(const std::string& token) { return token.starts_with("--"); }

// How many of the tokens behind a flag, which has no "=", are its values.
size_t count_values(std::span<const std::string> behind, Form form) {
  if (behind.empty() || is_flag(behind[0])) return 0;
  if (form == Form::kSwitch) return is_switch_word(behind[0]) ? 1 : 0;
  if (form == Form::kValue) return 1;
  return static_cast<size_t>(std::ranges::find_if(behind, is_flag) - behind.begin());
}

// The argument that begins with `tokens`.
TypedArgument first_argument(std::span<const std::string> tokens) {
  TypedArgument argument{.tokens = {tokens[0]}};
  if (!is_flag(tokens[0])) return argument;
  const size_t equals = tokens[0].find('=');
  const std::string typed = tokens[0].substr(0, equals), name = typed.substr(2);
  const std::optional<FlagSpelling> own = find_flag_spelling(name);
  bool& is_negated = argument.is_negated;
  is_negated = own && own->negated;
  if (own) {
    argument.own = own->flag;
  } else {
    argument.foreign = find_foreign_spelling(name, is_negated);
    if (argument.foreign == nullptr) return argument;
  }
  argument.typed = typed;
  if (equals != std::string::npos) {
    argument.values = {tokens[0].substr(equals + 1)};
    return argument;
  }
  if (is_negated) {
    argument.values = {"false"};
    return argument;
  }
  const Form form =
      own ? own->flag->value.is_switch ? Form::kSwitch : Form::kValue : argument.foreign->form;
  const size_t count = count_values(tokens.subspan(1), form);
  const auto values = tokens.subspan(1, count);
  argument.tokens.insert(argument.tokens.end(), values.begin(), values.end());
  argument.values.assign(values.begin(), values.end());
  if (form == Form::kSwitch && count == 0) argument.values = {"true"};
  return argument;
}

bool has_name(const TypedArgument& argument, std::string_view name) {
  return argument.own != nullptr ? argument.own->name == name
                                 : argument.foreign != nullptr && argument.foreign->name == name;
}

}  // namespace

TypedCommand::TypedCommand(std::span<const std::string> arguments, int64_t processes)
    : processes_(processes) {
  while (!arguments.empty()) {
    arguments_.push_back(first_argument(arguments));
    arguments = arguments.subspan(arguments_.back().tokens.size());
  }
}

void TypedCommand::add(const std::string& token) { add(first_argument({&token, 1})); }

std::optional<std::string> TypedCommand::value(std::string_view name) const {
  std::optional<std::string> last;
  for (const TypedArgument& argument : arguments_) {
    if (has_name(argument, name) && !argument.values.empty()) last = argument.values.back();
  }
  return last;
}

std::string TypedCommand::typed_name(std::string_view name) const {
  for (const TypedArgument& argument : arguments_) {
    if (has_name(argument, name)) return argument.typed;
  }
  return "";
}

bool TypedCommand::is_on(std::string_view name) const {
  const std::optional<std::string> text = value(name);
  return text && is_switch_word(*text) && parse_switch(*text);
}

bool TypedCommand::is_last_of(size_t index, std::initializer_list<std::string_view> names) const {
  return std::none_of(arguments_.begin() + static_cast<ptrdiff_t>(index) + 1, arguments_.end(),
                      [&](const TypedArgument& argument) {
                        return argument.foreign != nullptr &&
                               std::ranges::find(names, argument.foreign->name) != names.end();
                      });
}

namespace {

constexpr std::array<std::string_view, 6> kOffWords = {"none", "null", "", "0", "0.0", "disabled"};

bool is_accepted(std::string_view value, std::string_view accepted) {
  const std::string word = lower_ascii(value);
  if (is_switch_word(word) && !parse_switch(word)) return true;
  if (std::ranges::find(kOffWords, word) != kOffWords.end()) return true;
  const std::vector<std::string> further = parted(accepted, ",");
  return std::ranges::find(further, word) != further.end();
}

void translate_foreign(const TypedCommand& command, size_t index, Translation& translation) {
  const TypedArgument& argument = command.arguments()[index];
  const ForeignFlag& flag = *argument.foreign;
  const bool needs_value = flag.fate == Fate::kSame || flag.fate == Fate::kRule;
  if (argument.values.empty() && needs_value) {
    return translation.refuse(argument, "the flag needs a value");
  }
  switch (flag.fate) {
    case Fate::kSame:
      return translation.add(cat("--", flag.text, "=", argument.values[0]));
    case Fate::kMeans:
      if (parse_switch(argument.values[0])) translation.add(std::string(flag.text));
      return;
    case Fate::kIgnored:
      return translation.ignore(argument, flag.text);
    case Fate::kRefused: {
      const auto accepts = [&](const std::string& value) {
        return std::ranges::all_of(parted(value, ","), [&](const std::string& part) {
          return is_accepted(part, flag.accepted);
        });
      };
      if (!argument.values.empty() && std::ranges::all_of(argument.values, accepts)) return;
      return translation.refuse(argument, flag.text);
    }
    case Fate::kRule:
      return flag.rule({command, index, translation});
  }
}

}  // namespace

void Translation::ignore(const TypedArgument& argument, std::string_view why) {
  note(argument, cat("has no effect: ", why));
}

void Translation::note(const TypedArgument& argument, std::string_view text) {
  remarks.note(argument.typed, text);
}

void Translation::refuse(const TypedArgument& argument, std::string_view advice) {
  remarks.refuse(argument.typed, advice);
}

Translation translate(const TypedCommand& command) {
  Translation translation;
  for (size_t i = 0; i < command.arguments().size(); ++i) {
    const TypedArgument& argument = command.arguments()[i];
    try {
      if (argument.foreign != nullptr) {
        translate_foreign(command, i, translation);
      } else if (argument.own != nullptr) {
        translate_own(command, argument, translation);
      } else {
        translation.command.add(argument);
      }
    } catch (const Error& error) {  // of a value
      translation.refuse(argument, error.what());
    }
  }
  return translation;
}

}  // namespace berth
