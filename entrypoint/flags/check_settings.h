#pragma once

#include "entrypoint/flags/command_line.h"

namespace berth {

// What a mode needs, and flags that contradict each other. Throws kUsage. Looks at no file.
void check_settings(const CommandLine& command_line);

}  // namespace berth
