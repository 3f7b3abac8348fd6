#include "entrypoint/report/log_output.h"

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/printable.h"

namespace berth {
namespace {

struct LevelNames {
  const char *prefix, *severity;
};
constexpr LevelNames kNames[] = {
    {"error: ", "ERROR"}, {"warning: ", "WARNING"}, {"", "INFO"}, {"debug: ", "DEBUG"}};

}  // namespace

bool wants_text(const std::string& log_format, bool is_terminal) {
  return log_format == "text" || (log_format == "auto" && is_terminal);
}

LogSink text_log_sink(LogLevel least_urgent, TerminalLine& line) {
  return [least_urgent, &line](LogLevel level, const std::string& text) {
    if (level <= least_urgent) line.print(kNames[static_cast<size_t>(level)].prefix + text);
  };
}

LogSink json_log_sink(LogLevel least_urgent, Write write, Clock wall_clock) {
  return [=](LogLevel level, const std::string& text) {
    if (level > least_urgent) return;
    const OrderedJson object = {
        {"time", iso_time(wall_clock())},
        {"event", "log"},
        {"severity", kNames[static_cast<size_t>(level)].severity},
        {"message", text},
    };
    write(printable_json(to_text(object)) + "\n");
  };
}

}  // namespace berth
