#include "storage/base/error.h"
#include "storage/formats/row_readers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto reader = berth::make_json_reader(
        std::make_unique<berth::MemorySource>(std::as_bytes(std::span(data, size))));
    berth::Row row;
    while (reader->next(row)) {
    }
  } catch (const berth::Error&) {
  }
  return 0;
}
