#include "storage/base/error.h"
#include "storage/storage.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const berth::Uri uri = berth::Uri::parse(berth::as_text(std::as_bytes(std::span(data, size))));
    if (berth::Uri::parse(uri.url()) != uri) __builtin_trap();
  } catch (const berth::Error&) {
  }
  return 0;
}
