#pragma once

#include <functional>
#include <string>

// The program's log. log() throws nothing of its own.
namespace berth {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

// Receives the log lines. The sink, the stop flag and the known secrets (secrets.h) are the
// program's only mutable globals. Set the sink once at start, before any thread runs. Until then,
// lines go to standard error.
using LogSink = std::function<void(LogLevel, const std::string& line)>;
void set_log_sink(LogSink sink);

// Thread-safe: only one thread at a time calls the sink. `text` contains no newline.
// The sink gets it without known secrets.
void log(LogLevel level, const std::string& text);

inline void log_warning(const std::string& line) { log(LogLevel::kWarning, line); }
inline void log_info(const std::string& line) { log(LogLevel::kInfo, line); }
inline void log_debug(const std::string& line) { log(LogLevel::kDebug, line); }

}  // namespace berth
