#include "entrypoint/flags/foreign/typed_command.h"

#include <algorithm>

#include "entrypoint/flags/flag_lookup.h"

namespace berth {
namespace {

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

}  // namespace berth
