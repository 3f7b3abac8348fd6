#include "entrypoint/explain/own_command.h"

#include <algorithm>

#include "entrypoint/flags/flag_lookup.h"
#include "entrypoint/flags/typed_flag.h"

namespace berth {

void OwnCommand::set(std::string_view flag, std::string value) {
  const Flag* row = look_up_flag(flag).flag;
  std::erase_if(settings_, [&](const Setting& setting) { return setting.first == row; });
  settings_.emplace_back(row, std::move(value));
}

void OwnCommand::remove(std::string_view flag) {
  std::erase_if(settings_, [&](const Setting& setting) { return setting.first->name == flag; });
}

std::optional<std::string> OwnCommand::value(std::string_view flag) const {
  for (const auto& [row, value] : settings_) {
    if (row->name == flag) return value;
  }
  return std::nullopt;
}

bool OwnCommand::trains() const {
  const std::string mode = value("mode").value_or("train_and_eval");
  return mode == "train" || mode == "train_and_eval";
}

std::string OwnCommand::line(const ShellCommand& typed, bool expands) const {
  constexpr size_t kColumns = 100;
  std::string text;
  size_t column = 0;
  const auto add = [&](const std::string& part) {
    if (column > 0 && column + 1 + part.size() + 2 > kColumns) {
      text += " \\\n  ";
      column = 2;
    } else if (column > 0) {
      text += ' ';
      ++column;
    }
    text += part;
    column += part.size();
  };
  for (const std::string& setting : typed.environment) {
    const size_t value = setting.find('=') + 1;
    add(setting.substr(0, value) +
        (value == setting.size() ? "" : shell_quoted(setting.substr(value), expands)));
  }
  add("berth");
  for (const Setting& setting : settings_) add(flag_text(setting, expands));
  for (const std::string& input : inputs_) add(shell_quoted(input, expands));
  if (!typed.redirections.empty()) add(typed.redirections);
  return text + '\n';
}

std::string flag_text(const OwnCommand::Setting& setting, bool expands) {
  return typed_flag(*setting.first, setting.second, expands);
}

}  // namespace berth
