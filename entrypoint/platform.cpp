#include "entrypoint/platform.h"

#include <charconv>
#include <cstdlib>

namespace berth {

Platform read_platform() {
  return read_platform([](const char* name) { return std::getenv(name); });
}

Platform read_platform(const Environment& environment) {
  const auto text = [&](const char* name) {
    const char* value = environment(name);
    return std::string(value == nullptr ? "" : value);
  };
  Platform platform;
  platform.model_dir = text("AIP_MODEL_DIR");
  platform.checkpoint_dir = text("AIP_CHECKPOINT_DIR");
  platform.tensorboard_log_dir = text("AIP_TENSORBOARD_LOG_DIR");
  platform.term = text("TERM");
  const std::string columns = text("COLUMNS");
  int number = 0;
  const char* end = columns.data() + columns.size();
  if (std::from_chars(columns.data(), end, number).ptr == end && number > 0) {
    platform.columns = number;
  }
  return platform;
}

}  // namespace berth
