#pragma once

#include <string>
#include <vector>

#include "entrypoint/flags/command_line.h"

namespace berth {

// The command line that asks for `command_line`: parse_flags() makes the same settings of it. It
// leaves out the name of the program, flags at their defaults, and the platform's settings.
std::vector<std::string> to_arguments(const CommandLine& command_line);

}  // namespace berth
