#pragma once

#include <atomic>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/platform/platform.h"
#include "entrypoint/report/job_progress.h"

namespace berth {

// Does the job that `command_line` asks for and keeps `progress` current while it goes. Once `stop`
// is true it saves between two updates and throws kStopped; other failures throw too.
void run(const CommandLine& command_line, const Platform& platform, const std::atomic<bool>& stop,
         JobProgress& progress);

}  // namespace berth
