#pragma once

#include <string>

#include "entrypoint/report/terminal_line.h"
#include "storage/base/clock.h"
#include "storage/base/log.h"

namespace berth {

// Whether --log-format asks for text rather than JSON: auto is text on a terminal.
bool wants_text(const std::string& log_format, bool is_terminal);

// "warning: ..." lines, above the bar. `line` outlives the sink.
LogSink text_log_sink(LogLevel least_urgent, TerminalLine& line);

// {"time", "event": "log", "severity", "message"} lines; severity as Cloud Logging reads it.
LogSink json_log_sink(LogLevel least_urgent, Write write, Clock wall_clock);

// The program's log sink while this lives.
class ScopedLogSink {
 public:
  explicit ScopedLogSink(LogSink sink) { set_log_sink(std::move(sink)); }
  ~ScopedLogSink() { set_log_sink({}); }
  ScopedLogSink(const ScopedLogSink&) = delete;
  ScopedLogSink& operator=(const ScopedLogSink&) = delete;
};

}  // namespace berth
