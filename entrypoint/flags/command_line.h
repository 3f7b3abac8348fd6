#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/modes/prepared_files.h"
#include "entrypoint/platform/platform.h"
#include "storage/base/log.h"
#include "storage/open_storage.h"
#include "trainer/loop/options.h"

namespace berth {

// What the modes that compute nothing are told.
struct ToolOptions {
  std::string input{};                // inspect, tokenize: a file; tokenize: "-" is standard input
  std::optional<std::string> text{};  // tokenize: this one instead
  bool add_special_tokens = true;     // tokenize
  bool json = false;                  // inspect
  PreparedFileOptions prepared{};     // prepare
};

// What one invocation asked for: the job's settings and how the program itself behaves.
struct CommandLine {
  Settings settings;
  std::string log_format = "auto";  // auto: a bar on a terminal, else json; text; json
  LogLevel log_level = LogLevel::kInfo;
  bool help = false, version = false, help_markdown = false;
  bool dry_run = false;  // stop before the first update
  ToolOptions tool{};
  std::vector<std::string> given{};  // the flags that were, by their canonical names
  std::vector<std::string> notes{};  // of flags that have no effect: to be said once
  StorageOptions storage{};          // how remote objects are reached; results do not depend on it
  Tuning tuning{};                   // the platform's
  std::string forced_instruction_set;  // hidden, for tests; empty: the best this CPU has

  bool gives(std::string_view flag) const {
    return std::find(given.begin(), given.end(), flag) != given.end();
  }
};

}  // namespace berth
