#include "storage/base/error.h"
#include "storage/formats/torch_file.h"
#include "tests/support/stored_zip_bytes.h"

namespace {

void read(berth::Bytes file) {
  try {
    const berth::TorchFileReader reader(file);
    for (const berth::NamedTensor& tensor : reader.tensors()) {
      if (tensor.data.size() !=
          static_cast<uint64_t>(tensor.elements()) * berth::size_of(tensor.dtype)) {
        __builtin_trap();
      }
    }
  } catch (const berth::Error&) {
  }
}

// A zip file with this pickle and the storages of testdata/torch/zip.bin. Its checksums, sizes and
// offsets are correct, so that the code behind them is reached.
std::string zip_around(std::string_view pickle) {
  constexpr size_t kStorageSizes[] = {48, 48, 96, 8, 48, 16, 4, 0, 24, 6, 6, 24, 12, 6, 3, 3, 3};
  std::vector<berth::ZipEntry> entries = {{.name = "m/data.pkl", .data = std::string(pickle)}};
  for (size_t i = 0; i < std::size(kStorageSizes); ++i) {
    entries.push_back(
        {.name = "m/data/" + std::to_string(i), .data = std::string(kStorageSizes[i], '\1')});
  }
  return berth::stored_zip(entries);
}

}  // namespace

// The first byte chooses between a whole file and the pickle in one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const berth::Bytes input = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] % 2 == 0) {
    read(input);
  } else {
    read(berth::as_bytes(zip_around(berth::as_text(input))));
  }
  return 0;
}
