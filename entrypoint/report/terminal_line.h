#pragma once

#include <mutex>
#include <string>

#include "entrypoint/report/standard_error.h"

namespace berth {

// Lines that stay, above one line that is redrawn: a progress bar and log lines share it without
// spoiling each other. Thread-safe. Clears the redrawn line when destroyed.
class TerminalLine {
 public:
  // `redraws`: the other side is a terminal that understands "\r" and "erase to end of line".
  TerminalLine(Write write, bool redraws);
  ~TerminalLine();
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;

  bool redraws() const { return redraws_; }

  // Replaces the redrawn line; "" removes it. Nothing without redraws(). Must fit the width.
  void show(const std::string& text);

  // Adds a line that stays.
  void print(const std::string& line);

 private:
  const Write write_;
  const bool redraws_;
  std::mutex mutex_;
  std::string shown_;
};

}  // namespace berth
