#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "entrypoint/job/job.h"

namespace berth {

// The rule that decides whether a heartbeat belongs to a living job.
struct HeartbeatRule {
  double now_s = 0;      // of the wall clock
  double max_age_s = 0;  // the longest time without a sign of life
  std::function<bool(std::string_view process)> is_running;  // is_process_running()
};

// Returns a sentence about the job if the heartbeat `text` (entrypoint/report/heartbeat.h) belongs
// to a living or a finished job. A living job has a running process on this system. In the phases
// training and evaluating, it also gave a sign of life not long ago. Throws kHung if the job is
// neither living nor finished, and kCorrupt if the text is not a heartbeat.
std::string judge_heartbeat(std::string_view text, const HeartbeatRule& rule);

// --mode heartbeat: judges the heartbeat of `--job-dir` and prints the sentence. Throws kNotFound
// where there is none.
void run_heartbeat(Job& job);

}  // namespace berth
