#include "entrypoint/flags/flag_table.h"

namespace berth {
namespace {

constexpr RealRange kSeconds{0, 1e6, false, true, "a number of seconds above 0"};

auto storage(auto... members) { return place(&CommandLine::storage, members...); }

}  // namespace

std::vector<Flag> storage_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {.name = "cache-dir",
       .aliases = {},
       .group = kStorage,
       .help =
           "Cache files from gs:// and https:// in this directory, by version and checksum. A "
           "restarted job then does not fetch them again. Compiled programs for a TPU or GPU are "
           "cached there, too. Only users who may run this program should be able to write to it.",
       .value = path_value("DIR", storage(&StorageOptions::cache_dir)),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "no cache"},
      {.name = "anonymous",
       .aliases = {},
       .group = kStorage,
       .help = "Read public gs:// objects without credentials, instead of with Application Default "
               "Credentials.",
       .value = switch_value(storage(&StorageOptions::anonymous)),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "user-project",
       .aliases = {"billing-project"},
       .group = kStorage,
       .help = "The project of Google Cloud that is billed for requests to gs:// (userProject). A "
               "bucket with requester pays needs it.",
       .value = text_value("NAME", storage(&StorageOptions::user_project)),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "the bucket's own"},
      {.name = "parallel-uploads",
       .aliases = {},
       .group = kStorage,
       .help =
           "Upload large gs:// objects as parts of 8 MiB, which storage then joins and deletes. "
           "Switch this off for a bucket whose objects may not be deleted, or not early.",
       .value = switch_value(storage(&StorageOptions::transfer, &TransferOptions::joins_parts)),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "storage-endpoint",
       .aliases = {},
       .group = kStorage,
       .help = "Another address of Google Cloud Storage; credentials are sent to it. An emulator "
               "is named by STORAGE_EMULATOR_HOST instead.",
       .value = text_value("URL", storage(&StorageOptions::endpoint)),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "Google's"},
      {.name = "storage-retry-deadline",
       .aliases = {},
       .group = kStorage,
       .help = "Give up a transfer after this many seconds without any progress.",
       .value = real_value(storage(&StorageOptions::retry, &RetryOptions::deadline_s), kSeconds),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "storage-stall-timeout",
       .aliases = {},
       .group = kStorage,
       .help = "Drop a connection and try again after this many seconds of silence.",
       .value = real_value(storage(&StorageOptions::http, &HttpClientOptions::stall_timeout_s),
                           kSeconds),
       .role = {kUnrecorded, kEverywhere}},
  };
}

}  // namespace berth
