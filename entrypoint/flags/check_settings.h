#pragma once

#include "entrypoint/flags/command_line.h"

namespace berth {

// Throws kUsage where a flag that the mode needs is missing, or where flags contradict each other.
// Looks at no file.
void check_settings(const CommandLine& command_line);

}  // namespace berth
