#pragma once

#include <string>

#include "storage/base/log.h"
#include "storage/open_storage.h"
#include "trainer/loop/options.h"

namespace berth {

// What one invocation asked for: the job's settings and how the program itself behaves.
struct CommandLine {
  Settings settings;
  std::string log_format = "auto";  // auto: a bar on a terminal, else json; text; json
  LogLevel log_level = LogLevel::kInfo;
  bool help = false, version = false, help_markdown = false;
  StorageOptions storage{};  // how remote objects are reached; results do not depend on it
  std::string forced_instruction_set;  // hidden, for tests; empty: the best this CPU has
};

}  // namespace berth
