#include <cstring>

#include "storage/base/error.h"
#include "storage/formats/safetensors.h"

namespace {

void read(berth::Bytes file) {
  try {
    const berth::SafetensorsReader reader(file);
    uint64_t bytes = 0;
    for (const berth::NamedTensor& tensor : reader.tensors()) {
      if (tensor.data.size() !=
          static_cast<uint64_t>(tensor.elements()) * berth::size_of(tensor.dtype)) {
        __builtin_trap();
      }
      bytes += tensor.data.size();
    }
    if (bytes > file.size()) __builtin_trap();
  } catch (const berth::Error&) {
  }
}

// A file with this header, the header's right size, and as many bytes of data as
// testdata/small.safetensors has.
std::vector<std::byte> file_around(berth::Bytes header) {
  constexpr size_t kDataBytes = 58;
  const uint64_t size = header.size();
  std::vector<std::byte> file(sizeof size + size + kDataBytes);
  std::memcpy(file.data(), &size, sizeof size);
  std::ranges::copy(header, file.begin() + sizeof size);
  return file;
}

}  // namespace

// The first byte chooses between a whole file and the header of one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const berth::Bytes input = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] % 2 == 0) {
    read(input);
  } else {
    read(file_around(input));
  }
  return 0;
}
