#include "entrypoint/cluster/message.h"
#include "storage/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::MessageReader reader;
  try {
    reader.add(std::as_bytes(std::span(data, size)));
    while (const auto message = reader.next()) {
      // What was understood is understood again.
      berth::MessageReader again;
      again.add(berth::as_bytes(berth::encode(*message)));
      if (!again.next()) __builtin_trap();
    }
  } catch (const berth::Error&) {
  }
  return 0;
}
