#include "storage/base/error.h"
#include "storage/formats/row_readers.h"
#include "tests/support/bytes_in_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto reader = berth::make_numpy_reader(
        std::make_unique<berth::BytesInMemory>(std::as_bytes(std::span(data, size))));
    berth::Row row;
    for (int rows = 0; rows < 1000 && reader->next(row); ++rows) {  // deflated rows may be many
    }
  } catch (const berth::Error&) {
  }
  return 0;
}
