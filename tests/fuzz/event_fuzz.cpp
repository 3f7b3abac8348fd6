#include "storage/base/error.h"
#include "storage/formats/event_reader.h"
#include "storage/formats/tf_example.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const berth::Bytes record = std::as_bytes(std::span(data, size));
  try {
    berth::parse_event(record);
  } catch (const berth::Error&) {
  }
  try {
    berth::parse_tf_example(record);
  } catch (const berth::Error&) {
  }
  return 0;
}
