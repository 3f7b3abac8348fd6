#include "entrypoint/platform.h"

#include <charconv>
#include <cstdlib>

#include "storage/base/text.h"

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
  platform.emulator_host = text("STORAGE_EMULATOR_HOST");
  platform.credentials.application_credentials = text("GOOGLE_APPLICATION_CREDENTIALS");
  platform.credentials.gcloud_directory = text("CLOUDSDK_CONFIG");
  if (platform.credentials.gcloud_directory.empty() && !text("HOME").empty()) {
    platform.credentials.gcloud_directory = text("HOME") + "/.config/gcloud";
  }
  for (const char* name : {"GCE_METADATA_ROOT", "GCE_METADATA_HOST"}) {  // the second outranks
    if (!text(name).empty()) platform.credentials.metadata_host = text(name);
  }
  platform.credentials.metadata_server = lower_ascii(text("NO_GCE_CHECK")) != "true";
  const std::string columns = text("COLUMNS");
  int number = 0;
  const char* end = columns.data() + columns.size();
  if (std::from_chars(columns.data(), end, number).ptr == end && number > 0) {
    platform.columns = number;
  }
  return platform;
}

}  // namespace berth
