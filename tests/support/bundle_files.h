#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/tensor_bundle.h"
#include "storage/gzip_stream.h"
#include "tests/support/scratch_directory.h"

namespace berth {

// The two files of a TensorFlow checkpoint with one shard, in memory.
struct BundleFiles {
  std::string index, data;

  TensorBundleIndex parsed() const { return TensorBundleIndex(as_bytes(index)); }
  // The reader borrows this object.
  TensorBundleReader read(const WantedTensors& wanted = nullptr) const {
    return TensorBundleReader(
        parsed(), [this](int32_t) { return as_bytes(data); }, wanted);
  }
};

inline BundleFiles bundle_at(const std::string& prefix) {
  return {.index = read_text(prefix + ".index"), .data = read_text(shard_name(prefix, 0, 1))};
}

inline BundleFiles recorded_bundle(const std::string& name) {
  return bundle_at(BERTH_TESTDATA "/tensorflow/" + name + ".ckpt");
}

// A recorded checkpoint whose index has several data blocks. It is stored compressed.
inline BundleFiles recorded_blocks() {
  const std::string prefix = BERTH_TESTDATA "/tensorflow/blocks.ckpt";
  const std::string packed = read_text(prefix + ".index.gz");
  const auto source = gunzip(std::make_unique<MemorySource>(as_bytes(packed)));
  const std::vector<std::byte> index = read_all(*source, 1 << 20, prefix);
  return {.index = std::string(as_text(index)), .data = read_text(shard_name(prefix, 0, 1))};
}

inline std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

inline BundleFiles written_bundle(std::span<const NamedTensor> tensors) {
  MemorySink index, data;
  write_tensor_bundle(tensors, index, data);
  return {.index = std::string(as_text(index.written)), .data = std::string(as_text(data.written))};
}

}  // namespace berth
