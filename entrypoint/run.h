#pragma once

#include <functional>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/platform/platform.h"
#include "entrypoint/platform/stop_signals.h"
#include "entrypoint/report/final_report.h"
#include "storage/base/error.h"

namespace berth {

// Does the job that `command_line` asks for, and keeps `progress` current meanwhile. It is called
// once in a process. After a signal it saves at the next update and throws kStopped. Any other
// failure throws an Error, or what a library throws. `end_process` becomes Job::end_process.
void run(const CommandLine& command_line, const Platform& platform, StopSignals& signals,
         JobProgress& progress, const std::function<void(const Error&)>& end_process);

}  // namespace berth
