#include <array>

#include "storage/base/error.h"
#include "storage/gzip_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto source =
        berth::gunzip(std::make_unique<berth::MemorySource>(std::as_bytes(std::span(data, size))));
    std::array<std::byte, 4096> buffer;
    while (source->read(buffer) > 0) {
    }
  } catch (const berth::Error&) {
  }
  return 0;
}
