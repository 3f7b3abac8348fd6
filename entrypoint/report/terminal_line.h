#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "entrypoint/report/standard_error.h"

namespace berth {

// Prints lines that stay above one line that is redrawn, so that log lines and a progress bar do
// not garble each other. All characters are printable (storage/base/printable.h). Thread-safe. The
// destructor clears the redrawn line.
class TerminalLine {
 public:
  // `redraws`: `write` leads to a terminal that understands "\r" and "erase to the end of the
  // line".
  // `columns`: the width at which lines that stay are wrapped, between words; empty: they are not.
  TerminalLine(Write write, bool redraws, std::function<int()> columns = {});
  ~TerminalLine();
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;

  bool redraws() const { return redraws_; }

  // Replaces the redrawn line; "" removes it. `text` must fit the width of the terminal. Without
  // redraws() it does nothing.
  void show(const std::string& text);

  // Adds a line that stays.
  void print(const std::string& line);

 private:
  const Write write_;
  const bool redraws_;
  const std::function<int()> columns_;
  std::mutex mutex_;
  std::string shown_;
};

}  // namespace berth
