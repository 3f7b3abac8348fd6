#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/base/clock.h"
#include "storage/base/log.h"

namespace berth {

// Writes text for people and log collectors. Tests pass a function that appends to a string.
using Write = std::function<void(std::string_view)>;

// Writes `text` in one call wherever the system allows it, so that lines of several threads do not
// mix. A closed or full standard error is ignored: it must not end the job.
void write_standard_error(std::string_view text);

// Waits until standard error takes at least one line, at most for the given time. Returns whether
// it does.
bool standard_error_takes_text(double timeout_s);

bool standard_error_is_terminal();

// The current number of columns of the terminal behind `descriptor`; nullopt: it is no terminal.
std::optional<int> terminal_columns(int descriptor);

// Standard output leads to a program that has ended, as `head` does. It is no failure: the program
// ends with exit code 0 and says nothing.
struct OutputClosed {};

// Standard output as a sink. Unlike in other sinks, bytes appear before close(). On a terminal they
// are made printable (storage/base/text.h), so one write() must not end inside a character.
// Throws kNoSpace, and OutputClosed where the reader has seen enough.
class StandardOutput final : public ByteSink {
 public:
  void write(Bytes bytes) override;
  Stat close() override;
};

// Prints lines that stay above one line that is redrawn, so that log lines and a progress bar do
// not garble each other. All characters are printable (storage/base/text.h). Thread-safe. The
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

// Whether --log-format means text rather than JSON. auto means text on a terminal.
bool wants_text(const std::string& log_format, bool is_terminal);

// Prints lines such as "warning: ..." above the progress bar. `line` outlives the sink.
LogSink text_log_sink(LogLevel least_urgent, TerminalLine& line);

// Writes {"time", "event": "log", "severity", "message"} lines, with the severities of Cloud
// Logging.
LogSink json_log_sink(LogLevel least_urgent, Write write, Clock wall_clock);

// Makes `sink` the log sink of the program while this object lives.
class ScopedLogSink {
 public:
  explicit ScopedLogSink(LogSink sink) { set_log_sink(std::move(sink)); }
  ~ScopedLogSink() { set_log_sink({}); }
  ScopedLogSink(const ScopedLogSink&) = delete;
  ScopedLogSink& operator=(const ScopedLogSink&) = delete;
};

}  // namespace berth
