#pragma once

#include <functional>
#include <string>

namespace berth {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

// Receives the log lines. The sink is the program's only mutable global besides the stop flag. Set
// it once at start, before any thread runs. Until then, lines go to standard error.
using LogSink = std::function<void(LogLevel, const std::string& line)>;
void set_log_sink(LogSink sink);

// Thread-safe: only one thread at a time calls the sink. `line` contains no newline.
void log(LogLevel level, const std::string& line);

inline void log_error(const std::string& line) { log(LogLevel::kError, line); }
inline void log_warning(const std::string& line) { log(LogLevel::kWarning, line); }
inline void log_info(const std::string& line) { log(LogLevel::kInfo, line); }
inline void log_debug(const std::string& line) { log(LogLevel::kDebug, line); }

}  // namespace berth
