#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/formats/checkpoint_state.h"
#include "storage/formats/object_graph.h"
#include "storage/formats/snappy.h"
#include "storage/formats/tensor_bundle.h"
#include "storage/formats/tensor_bundle/table_reader.h"

namespace berth {
namespace {

// A whole table around one raw or compressed block of entries. Its checksums are correct, so that
// the code behind the checksums is reached.
std::vector<std::byte> table_around(Bytes content, std::byte type) {
  std::vector<std::byte> file;
  const auto append = [&](Bytes bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); };
  const auto append_varint = [](std::vector<std::byte>& to, uint64_t value) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>((value & 0x7F) | 0x80));
    to.push_back(static_cast<std::byte>(value));
  };
  const auto block = [&](Bytes bytes, std::byte kind) {
    std::vector<std::byte> handle;
    append_varint(handle, file.size());
    append_varint(handle, bytes.size());
    const size_t begin = file.size();
    append(bytes);
    file.push_back(kind);
    const uint32_t crc = crc32c_mask(crc32c(Bytes(file).subspan(begin)));
    append(std::as_bytes(std::span(&crc, 1)));
    return handle;
  };
  const std::vector<std::byte> data = block(content, type);
  const std::vector<std::byte> no_restarts(4);
  std::vector<std::byte> footer = block(no_restarts, std::byte{0});
  std::vector<std::byte> index = {std::byte{0}, std::byte{1}, static_cast<std::byte>(data.size()),
                                  std::byte{0xFF}};
  index.insert(index.end(), data.begin(), data.end());
  index.insert(index.end(), no_restarts.begin(), no_restarts.end());
  const std::vector<std::byte> index_handle = block(index, std::byte{0});
  footer.insert(footer.end(), index_handle.begin(), index_handle.end());
  footer.resize(kTableHandlesSize);
  append(footer);
  append(std::as_bytes(std::span(&kTableMagic, 1)));
  return file;
}

void read_bundle(Bytes index, Bytes shard) {
  try {
    const TensorBundleReader reader(TensorBundleIndex(index), [&](int32_t) { return shard; });
    uint64_t bytes = 0;
    for (const NamedTensor& tensor : reader.tensors()) {
      if (tensor.data.size() != static_cast<uint64_t>(tensor.elements()) * size_of(tensor.dtype)) {
        __builtin_trap();
      }
      bytes += tensor.data.size();
    }
    if (bytes > shard.size()) __builtin_trap();
    for (const BundleEntry& entry : reader.index().tensors()) reader.strings(entry.name);
  } catch (const Error&) {
  }
}

template <typename Read>
void attempt(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace berth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace berth;
  if (size == 0) return 0;
  const Bytes input = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 6) {
    case 0:
      read_bundle(input, input);
      break;
    case 1:
      read_bundle(table_around(input, std::byte{0}), input);
      break;
    case 2:
      read_bundle(table_around(input, std::byte{1}), input);
      break;
    case 3:
      attempt([&] {
        std::vector<std::byte> out;
        snappy_decode(input, out);
        if (out.size() > 22 * input.size()) __builtin_trap();
      });
      break;
    case 4:
      attempt([&] { full_names(input); });
      break;
    case 5:
      attempt([&] { latest_checkpoint_prefixes(as_text(input)); });
      break;
  }
  return 0;
}
