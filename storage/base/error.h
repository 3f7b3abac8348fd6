#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace berth {

// Why a job cannot go on. Each code is one exit code, and so one answer to "retry the pod?".
enum class Code {
  kInternal,      //  1  a bug of ours
  kUsage,         //  2  a flag, a configuration file, or two of them that disagree
  kBadData,       //  3  readable input that cannot be trained on
  kCorrupt,       //  3  bytes that are not what their format promises
  kNotFound,      //  4  absent
  kNotPermitted,  //  4  present but not ours to read or write, read-only included
  kIncompatible,  //  5  a checkpoint of another job
  kInUse,         //  6  another process holds the job directory
  kUnavailable,   // 10  transient; the one code that storage retries
  kNoSpace,       // 10  disk full
  kDiverged,      // 13  the loss is no longer a number
  kMemory,        // 14  does not fit
  kStopped,       // 143 asked to stop, after saving
};

int exit_code(Code code);

// "bad_data", "not_found", ...: the `reason` of the final report.
std::string_view reason(Code code);

// The one exception type. what() is one sentence: "<where>: <what>; <hint>".
//   throw Error(Code::kNotFound, "no config.json", "models/tiny", "pass --model-config");
class Error : public std::runtime_error {
 public:
  explicit Error(Code code, const std::string& what, const std::string& where = "",
                 const std::string& hint = "");

  Code code() const { return code_; }
  const std::string& problem() const { return problem_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }

  // The same error, located: where becomes `prefix`, or "`prefix`: where".
  Error at(const std::string& prefix) const;

  // The same error, whose cause asked for a pause before the next try (Retry-After).
  Error after(double pause_s) const;
  double pause_s() const { return pause_s_; }

 private:
  Code code_;
  std::string problem_, where_, hint_;
  double pause_s_ = 0;
};

}  // namespace berth
