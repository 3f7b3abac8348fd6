#pragma once

#include <string>

#include "entrypoint/report/terminal_line.h"
#include "storage/base/clock.h"
#include "storage/base/log.h"

namespace berth {

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
