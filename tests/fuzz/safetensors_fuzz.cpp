#include "storage/base/error.h"
#include "storage/formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const berth::SafetensorsReader reader(std::as_bytes(std::span(data, size)));
    uint64_t bytes = 0;
    for (const berth::NamedTensor& tensor : reader.tensors()) {
      if (tensor.data.size() !=
          static_cast<uint64_t>(tensor.elements()) * berth::size_of(tensor.dtype)) {
        __builtin_trap();
      }
      bytes += tensor.data.size();
    }
    if (bytes > size) __builtin_trap();
  } catch (const berth::Error&) {
  }
  return 0;
}
