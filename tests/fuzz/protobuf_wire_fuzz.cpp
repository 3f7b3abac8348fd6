#include "storage/base/error.h"
#include "storage/base/protobuf_wire.h"

namespace {

// Reads the payloads as nested messages, too, as a reader with a schema would. `messages` is how
// many more it may read. Most are malformed, and an exception takes longer than reading a message.
void read(berth::Bytes message, int depth, int& messages) {
  berth::ProtoReader reader(message);
  for (berth::ProtoField field; reader.next(field);) {
    if (field.type == berth::WireType::kLengthDelimited && depth > 0 && messages-- > 0) {
      try {
        read(field.payload, depth - 1, messages);
      } catch (const berth::Error&) {  // the payload was text
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    int messages = 16;
    read(std::as_bytes(std::span(data, size)), 4, messages);
  } catch (const berth::Error&) {
  }
  return 0;
}
