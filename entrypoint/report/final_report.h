#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>

#include "entrypoint/report/job_progress.h"
#include "storage/base/clock.h"

namespace berth {

// How the process ended. It is the last line on standard error where that takes JSON lines, and the
// termination message of the pod.
struct FinalReport {
  int code = 0;                               // the exit code
  std::string reason{}, what{};               // "finished", or reason(Code) and the problem
  std::string where{}, hint{}, checkpoint{};  // empty where there is nothing to say
  int64_t step = 0;
  JobResults results{};  // of a job that finished
};

FinalReport success_report(const JobProgress& progress);

// The report of an exception: an Error by its code, std::bad_alloc as kMemory, and anything else as
// kInternal.
FinalReport failure_report(const std::exception_ptr& failure, const JobProgress& progress);

// "where: what; hint", for people, in printable characters (storage/base/printable.h).
std::string sentence(const FinalReport& report);

// The lines that name the results and the next command, for people. Empty where there are none.
std::string results_text(const JobResults& results);

// One JSON object, with the time, the severity and the message that a console of logs shows. It has
// printable characters, no newline, and at most 4096 bytes, because Kubernetes stores no more. If
// it would be longer, the results are left out. If it is then still too long, long texts are cut at
// their ends.
std::string json_line(const FinalReport& report, const Clock& wall_clock = wall_clock_s);

// Writes `line` to `file` where the platform provides that file. Otherwise, and on failure, it does
// nothing.
void write_termination_log(const std::string& line,
                           const std::filesystem::path& file = "/dev/termination-log");

}  // namespace berth
