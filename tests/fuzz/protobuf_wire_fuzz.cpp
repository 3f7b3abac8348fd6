#include "storage/base/error.h"
#include "storage/base/protobuf_wire.h"

namespace {

// Reads every payload as a nested message, too, as a reader with a schema would.
void read(berth::Bytes message, int depth) {
  berth::ProtoReader reader(message);
  for (berth::ProtoField field; reader.next(field);) {
    if (field.type == berth::WireType::kLengthDelimited && depth > 0) {
      try {
        read(field.payload, depth - 1);
      } catch (const berth::Error&) {  // the payload was text
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    read(std::as_bytes(std::span(data, size)), 4);
  } catch (const berth::Error&) {
  }
  return 0;
}
