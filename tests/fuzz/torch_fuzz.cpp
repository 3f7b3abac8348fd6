#include "storage/base/error.h"
#include "storage/formats/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const berth::TorchFileReader reader(std::as_bytes(std::span(data, size)));
    for (const berth::NamedTensor& tensor : reader.tensors()) {
      if (tensor.data.size() !=
          static_cast<uint64_t>(tensor.elements()) * berth::size_of(tensor.dtype)) {
        __builtin_trap();
      }
    }
  } catch (const berth::Error&) {
  }
  return 0;
}
