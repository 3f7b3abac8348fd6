#include "entrypoint/flags/mode_flags.h"

#include "entrypoint/flags/flag_table.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
std::string unused_flags(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  if ((kEverywhere & set_of({settings.mode})) == 0) return "";
  std::string names;
  for (const Flag& flag : flag_table()) {
    if (!command_line.gives(flag.name)) continue;
    if (flag.role.is_used(settings)) continue;
    names += cat(names.empty() ? "" : ", ", "--", flag.name);
  }
  if (names.empty()) return "";
  return cat("--mode ", traits(settings.mode).name, " does not use ", names);
}

std::string mode_names(ModeSet modes) {
  std::string names;
  for (const ModeTraits& row : mode_table()) {
    if ((modes & set_of({row.mode})) != 0) names += cat(names.empty() ? "" : " and ", row.name);
  }
  return names;
}

std::string mode_of_word(std::string_view word) {
  if (word.starts_with('-')) return "";
  CommandLine named;
  try {
    find_flag("mode")->value.set(named, word);
  } catch (const Error&) {
    return "";
  }
  return std::string(traits(named.settings.mode).name);
}

}  // namespace berth
