#pragma once

#include <string>

#include "storage/base/log.h"

namespace berth {

// What is logged while this lives.
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
  const std::string& lines() const { return lines_; }  // of every level

 private:
  std::string warnings_, lines_;
};

}  // namespace berth
