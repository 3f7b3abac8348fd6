#pragma once

#include <string>

#include "storage/base/log.h"

namespace berth {

// Captures everything that is logged while this object lives. One at a time.
class CapturedLog {
 public:
  CapturedLog() {
    set_log_sink([this](LogLevel level, const std::string& line) {
      if (level == LogLevel::kWarning) warnings_ += line + "\n";
      lines_ += line + "\n";
    });
  }
  ~CapturedLog() { set_log_sink({}); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  const std::string& warnings() const { return warnings_; }
  const std::string& lines() const { return lines_; }  // at every level

 private:
  std::string warnings_, lines_;
};

}  // namespace berth
