#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/platform/platform.h"

namespace berth {

// How far a job came; part of the final report, whether it succeeded or not.
struct RunResult {
  int64_t step = 0;        // updates done
  std::string checkpoint;  // the newest one that is complete; empty: none
};

// Does the job that `command_line` asks for and keeps `reached` current while it goes. Once `stop`
// is true it saves between two updates and throws kStopped; other failures throw too.
void run(const CommandLine& command_line, const Platform& platform, const std::atomic<bool>& stop,
         RunResult& reached);

}  // namespace berth
