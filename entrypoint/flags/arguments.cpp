#include "entrypoint/flags/arguments.h"

#include "entrypoint/flags/flag_table.h"
#include "storage/base/text.h"

namespace berth {

std::vector<std::string> to_arguments(const CommandLine& command_line) {
  const CommandLine defaults;
  std::vector<std::string> arguments;
  for (const Flag& flag : flag_table()) {
    const std::string value = flag.value.get(command_line);
    if (value.empty() || value == flag.value.get(defaults)) continue;
    arguments.push_back(cat("--", flag.name, "=", value));
  }
  return arguments;
}

}  // namespace berth
