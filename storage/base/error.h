#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

// The program's errors: one exception type, whose code decides the exit code. Plain values. Throws
// nothing itself.
namespace berth {

// The reasons for which a job stops. Each code maps to one process exit code, which tells a
// scheduler whether to restart the job.
enum class Code {
  kInternal,      // 1  a bug in this program
  kUsage,         // 2  a wrong flag or configuration file, or two that contradict each other
  kBadData,       // 3  input that can be read but not trained on
  kCorrupt,       // 3  bytes that violate their format or fail their checksum
  kNotFound,      // 4  the file or object does not exist
  kNotPermitted,  // 4  access denied, or a read-only file system
  kIncompatible,  // 5  the checkpoint belongs to a different job
  kInUse,         // 6  another process uses the job directory
  kUnavailable,   // 10  a transient failure: the only code that storage retries
  kNoSpace,       // 10  the disk is full
  kPeerLost,      // 11 another worker of the job ended or cannot be reached
  kHung,          // 12 an update took longer than --step-timeout
  kDiverged,      // 13  the loss became NaN or infinite
  kMemory,        // 14  not enough memory
  kStopped,       // 143 stopped on request, after saving a checkpoint
};

int exit_code(Code code);

// The code's name in the final report's `reason` field: "bad_data", "not_found", ...
std::string_view reason(Code code);

// The program's only exception type. what() is the sentence "<where>: <what>; <hint>".
//   throw Error(Code::kNotFound, "no config.json", "models/tiny", "pass --model-config");
class Error : public std::runtime_error {
 public:
  explicit Error(Code code, const std::string& what, const std::string& where = "",
                 const std::string& hint = "");

  Code code() const { return code_; }
  const std::string& problem() const { return problem_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }

  // Returns a copy with `prefix` put in front of where(), as "<prefix>: <where>".
  Error at(const std::string& prefix) const;
  // The same, unless where() begins with `file` already.
  Error in(const std::string& file) const;

  // Returns a copy that asks for a pause before the next attempt (HTTP's Retry-After).
  Error after(double pause_s) const;
  double pause_s() const { return pause_s_; }

 private:
  Code code_;
  std::string problem_, where_, hint_;
  double pause_s_ = 0;
};

}  // namespace berth
