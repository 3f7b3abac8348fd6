#pragma once

#include "trainer/loop/options.h"

namespace berth {

// What a mode needs, and flags that contradict each other. Throws kUsage. Looks at no file.
void check_settings(const Settings& settings);

}  // namespace berth
