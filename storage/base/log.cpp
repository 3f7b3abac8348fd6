#include "storage/base/log.h"

#include <cstdio>
#include <mutex>

#include "storage/base/secrets.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::mutex mutex;
LogSink sink;

}  // namespace

void set_log_sink(LogSink new_sink) {
  const std::lock_guard lock(mutex);
  sink = std::move(new_sink);
}

void log(LogLevel level, const std::string& text) {
  const std::string line = without_known_secrets(text);
  const std::lock_guard lock(mutex);
  if (sink) {
    sink(level, line);
  } else if (level <= LogLevel::kInfo) {
    std::fprintf(stderr, "%s\n", printable(line).c_str());
  }
}

}  // namespace berth
