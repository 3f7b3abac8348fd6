#include "storage/base/error.h"
#include "storage/formats/tfrecord.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    berth::TfRecordReader reader(
        std::make_unique<berth::MemorySource>(std::as_bytes(std::span(data, size))));
    for (std::vector<std::byte> record; reader.next(record);) {
    }
  } catch (const berth::Error&) {
  }
  return 0;
}
