#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>

#include "entrypoint/report/job_progress.h"

namespace berth {

// How the process ended: the last line on standard error and the termination message.
struct FinalReport {
  int code = 0;                         // exit code
  std::string reason, what;             // "finished", or reason(Code) and the problem
  std::string where, hint, checkpoint;  // empty: nothing to say
  int64_t step = 0;
};

FinalReport success_report(const JobProgress& progress);

// An Error by its code, std::bad_alloc as kMemory, anything else as kInternal.
FinalReport failure_report(const std::exception_ptr& failure, const JobProgress& progress);

// "where: what; hint", for people.
std::string sentence(const FinalReport& report);

// One JSON object without newline, at most 4096 bytes (Kubernetes cuts there): long texts lose
// their ends.
std::string json_line(const FinalReport& report);

// Writes `line` where the platform gave such a file; elsewhere, and on failure, does nothing.
void write_termination_log(const std::string& line,
                           const std::filesystem::path& file = "/dev/termination-log");

}  // namespace berth
