#include "entrypoint/explain/own_command.h"

#include <algorithm>
#include <optional>

#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flags.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/storage.h"
#include "trainer/inputs/mode.h"
#include "trainer/model/task.h"
#include "trainer/tasks/glue.h"

namespace berth {

void OwnCommand::set(std::string_view flag, std::string value) {
  const Flag* row = look_up_flag(flag).flag;
  const std::optional<std::string> known = this->value(row->name);
  if (known && !known->empty() && row->role.has(kMayRepeat)) value = cat(*known, "\n", value);
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

namespace {

bool holds_variable(const std::string& value) { return value.find('$') != std::string::npos; }

// Throws kUsage where berth cannot read or write at this address.
void check_address(const std::string& value) {
  if (value.find("://") == std::string::npos) return;
  const Uri uri = Uri::parse(value);
  const std::string& host = uri.host();
  const bool is_bucket = host.starts_with("s3.") || host.starts_with("s3-") ||
                         host.find(".s3.") != host.npos || host.find(".s3-") != host.npos ||
                         host.find(".blob.core.windows.net") != host.npos;
  if (uri.scheme().starts_with("http") && is_bucket) {
    throw Error(Code::kUsage, "berth does not log in to S3 or to Azure's storage", quoted(value),
                "copy the files to a disk or to gs://, and name them there");
  }
}

}  // namespace

namespace {

// Throws as a training does where a flag changes nothing in the task that the line names. If all
// flags are known (`is_whole`), the same where it changes nothing with the other flags.
void require_flags_of_task(const CommandLine& line, bool is_whole) {
  const Settings& settings = line.settings;
  const auto never = [](std::string_view, std::string_view) { return false; };
  if (is_whole && traits(settings.mode).trains()) {
    require_used(line, settings.training.optimization.learning_rate, never);
  }
  const GlueTask* glue = find_glue_task(settings.data.task);
  const std::optional<Task> task =
      glue == nullptr ? find_task(settings.data.task) : std::optional(glue->task);
  const bool is_open = task && traits(*task).unlabelled;  // the rows decide
  if (!task || is_open || !traits(settings.mode).trains()) return;
  require_heeded(line, *task, never);
}

}  // namespace

void check_line(OwnCommand& own, bool expands, Remarks& remarks) {
  bool is_whole = true;  // whether `arguments` has all flags
  std::vector<std::string> arguments;
  Platform platform;
  platform.home = "~";
  CommandLine scratch;
  scratch.home = platform.home;
  const std::vector<OwnCommand::Setting> settings = own.settings();
  for (auto [flag, value] : settings) {
    if (flag->name == "flagfile") {
      remarks.note("--flagfile", "is not read here: name its flags instead");
      continue;
    }
    const std::string& hint = flag->value.hint;
    const bool is_place = hint == "FILE" || hint == "DIR" || hint == "PATH";
    if (expands && holds_variable(value) && !is_place) {
      is_whole = false;
      continue;
    }
    if (expands && is_place) std::ranges::replace(value, '$', '_');
    try {
      if (is_place) check_address(value);
      flag->value.set(scratch, value);
      arguments.push_back(cat("--", flag->name, "=", value));
    } catch (const Error& error) {
      remarks.refuse("--" + flag->name, error.what());
      own.remove(flag->name);
    }
  }
  for (std::string input : own.inputs()) {
    if (expands) std::ranges::replace(input, '$', '_');
    arguments.push_back(std::move(input));
  }
  const auto is_refused = [](const Remark& remark) { return remark.refused; };
  if (std::ranges::any_of(remarks, is_refused)) return;
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  try {
    require_flags_of_task(parse_flags(pointers, platform), is_whole);
  } catch (const Error& error) {
    remarks.refuse("this line", error.what());
  }
}

}  // namespace berth
