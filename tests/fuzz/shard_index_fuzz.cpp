#include "storage/base/error.h"
#include "storage/formats/shard_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const berth::ShardIndex index =
        berth::parse_shard_index(berth::as_text(std::as_bytes(std::span(data, size))));
    for (const std::string& file : index.files()) {
      if (file.find('/') != std::string::npos || file == "..") __builtin_trap();
    }
  } catch (const berth::Error&) {
  }
  return 0;
}
