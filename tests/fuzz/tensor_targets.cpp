#include <cstring>
#include <string>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/formats/safetensors.h"
#include "storage/formats/snappy.h"
#include "storage/formats/tensor_bundle.h"
#include "storage/formats/tensor_bundle/table.h"
#include "storage/formats/tensorflow_checkpoint.h"
#include "storage/formats/torch_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/stored_zip_bytes.h"

namespace berth {
namespace {

// Each tensor must have the bytes that its shape asks for. Returns the sum of their sizes.
uint64_t check_sizes(std::span<const NamedTensor> tensors) {
  uint64_t bytes = 0;
  for (const NamedTensor& tensor : tensors) {
    require(tensor.data.size() == static_cast<uint64_t>(tensor.elements()) * size_of(tensor.dtype));
    bytes += tensor.data.size();
  }
  return bytes;
}

void read_safetensors(Bytes file) {
  const SafetensorsReader reader(file);
  require(check_sizes(reader.tensors()) <= file.size());
}

// A file with this header, the header's right size, and as many bytes of data as
// testdata/small.safetensors has.
std::vector<std::byte> safetensors_around(Bytes header) {
  constexpr size_t kDataBytes = 58;
  const uint64_t size = header.size();
  std::vector<std::byte> file(sizeof size + size + kDataBytes);
  std::memcpy(file.data(), &size, sizeof size);
  std::ranges::copy(header, file.begin() + sizeof size);
  return file;
}

// The first byte chooses between a whole file and the header of one.
void safetensors(Bytes input) {
  read_chosen(input, [](uint8_t kind, Bytes rest) {
    may_refuse([&] { read_safetensors(kind % 2 == 0 ? rest : Bytes(safetensors_around(rest))); });
  });
}

void shard_index(Bytes input) {
  may_refuse([&] {
    const ShardIndex index = parse_shard_index(as_text(input));
    for (const std::string& file : index.files()) {
      require(file.find('/') == std::string::npos && file != "..");
    }
  });
}

void read_torch(Bytes file) {
  const TorchFileReader reader(file);
  check_sizes(reader.tensors());
}

// A zip file with this pickle and the storages of zip.bin in testdata/torch.tar. Its checksums,
// sizes and offsets are correct, so that the code behind them is reached.
std::string zip_around(std::string_view pickle) {
  constexpr size_t kStorageSizes[] = {48, 48, 96, 8, 48, 16, 4, 0, 24, 6, 6, 24, 12, 6, 3, 3, 3};
  std::vector<ZipEntry> entries = {{.name = "m/data.pkl", .data = std::string(pickle)}};
  for (size_t i = 0; i < std::size(kStorageSizes); ++i) {
    entries.push_back(
        {.name = "m/data/" + std::to_string(i), .data = std::string(kStorageSizes[i], '\1')});
  }
  return stored_zip(entries);
}

// The first byte chooses between a whole file and the pickle in one.
void torch(Bytes input) {
  read_chosen(input, [](uint8_t kind, Bytes rest) {
    may_refuse([&] {
      if (kind % 2 == 0) return read_torch(rest);
      const std::string file = zip_around(as_text(rest));
      read_torch(as_bytes(file));
    });
  });
}

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
  const TensorBundleReader reader(TensorBundleIndex(index), [&](int32_t) { return shard; });
  require(check_sizes(reader.tensors()) <= shard.size());
  for (const BundleEntry& entry : reader.index().tensors()) reader.strings(entry.name);
}

void read_part_of_bundle(uint8_t part, Bytes input) {
  std::vector<std::byte> out;
  switch (part % 6) {
    case 0:
      return read_bundle(input, input);
    case 1:
      return read_bundle(table_around(input, std::byte{0}), input);
    case 2:
      return read_bundle(table_around(input, std::byte{1}), input);
    case 3:
      snappy_decode(input, out);
      return require(out.size() <= 22 * input.size());
    case 4:
      full_names(input);
      return;
    case 5:
      latest_checkpoint_prefixes(as_text(input));
      return;
  }
}

void tensor_bundle(Bytes input) {
  may_refuse([&] { read_chosen(input, read_part_of_bundle); });
}

const FuzzTargets kTensorTargets = {{"safetensors", safetensors},
                                    {"shard_index", shard_index},
                                    {"tensor_bundle", tensor_bundle},
                                    {"torch", torch}};

}  // namespace
}  // namespace berth
