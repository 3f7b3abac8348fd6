#include "entrypoint/flags/flag_file.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "entrypoint/flags/flag_value.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/google/local_text.h"

namespace berth {
namespace {

constexpr std::string_view kFlag = "--flagfile";

// Adds the flag in `line`, the one of this number in `file`.
void add_line(std::string_view line, size_t number, const std::string& file,
              std::vector<std::string>& arguments) {
  line = trimmed(line);
  if (line.empty() || line.starts_with('#') || line.starts_with("//")) return;
  const std::string place = cat(file, ": line ", number);
  if (!line.starts_with("--")) {
    throw Error(Code::kUsage, cat(quoted(line), " is not a flag"), place,
                "write one flag a line, as --name=value");
  }
  const size_t name_end = std::min(line.find_first_of(" \t="), line.size());
  if (line.substr(0, name_end) == kFlag) {
    throw Error(Code::kUsage, "a file of flags cannot name another one", place,
                "give --flagfile once for each file");
  }
  if (name_end == line.size() || line[name_end] == '=') {
    arguments.emplace_back(line);
  } else {
    arguments.emplace_back(line.substr(0, name_end));
    arguments.emplace_back(trimmed(line.substr(name_end)));
  }
}

std::vector<std::string> flags_in(const std::string& file) {
  const std::optional<LocalText> read = read_local_text(file);
  if (!read) {
    throw Error(Code::kNotFound, "there is no such file", cat(kFlag, " ", file),
                "the file of flags must be on the local disk");
  }
  std::vector<std::string> flags;
  std::string_view rest = read->text;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    add_line(rest.substr(0, end), number, file, flags);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return flags;
}

}  // namespace

std::vector<std::string> expand_flag_files(std::span<const char* const> arguments,
                                           const std::string& home,
                                           std::vector<std::string>& notes) {
  std::vector<std::string> expanded;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    std::string file;
    if (argument == kFlag && i + 1 < arguments.size()) {
      file = arguments[++i];
    } else if (argument.starts_with(kFlag) && argument.substr(kFlag.size()).starts_with('=')) {
      file = argument.substr(kFlag.size() + 1);
    } else if (argument != kFlag) {
      expanded.emplace_back(argument);
      continue;
    }
    if (file.empty()) throw Error(Code::kUsage, "the flag needs a value", std::string(kFlag));
    file = parse_path(file, home);
    const std::vector<std::string> flags = flags_in(file);
    std::string note = cat("the flags in ", file, ":");
    for (const std::string& flag : flags) note += " " + flag;
    notes.push_back(std::move(note));
    expanded.insert(expanded.end(), flags.begin(), flags.end());
  }
  return expanded;
}

}  // namespace berth
