#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"
#include "storage/formats/protobuf_wire.h"

namespace berth {

// One dimension of a slice; without a length, the whole dimension.
struct SliceExtent {
  int64_t start = 0;
  std::optional<int64_t> length{};
};
using TensorSlice = std::vector<SliceExtent>;

// What a checkpoint's index says of one tensor: BundleEntryProto
// (tensorflow/core/protobuf/tensor_bundle.proto).
struct BundleEntry {
  std::string name;
  int32_t type = 0;              // TensorFlow's DataType
  std::vector<int64_t> shape{};  // none negative; elements fit int64_t
  int32_t shard = 0;
  uint64_t offset = 0, size_bytes = 0;  // of the shard; 0, 0 for a partitioned variable
  uint32_t crc32c = 0;                  // not masked
  std::vector<TensorSlice> slices{};    // not empty: a partitioned variable, its data in these

  int64_t elements() const;
  bool is_string() const;
  bool is_opaque() const;  // a resource or a variant, whose bytes only TensorFlow understands
  std::optional<DType> dtype() const;  // nullopt: berth has no such elements
  std::string_view type_name() const;  // as numpy says: "float32", "string", "complex64"
};

// BundleHeaderProto, the value of the empty key.
struct BundleHeader {
  int32_t num_shards = 1;
};

// Both throw kCorrupt, naming the tensor or the field, on what is not valid; kBadData on what berth
// does not read: big-endian data, a later version, an unknown shape.
BundleHeader parse_bundle_header(Bytes value);
BundleEntry parse_bundle_entry(std::string_view name, Bytes value);

std::vector<std::byte> bundle_header_bytes();  // of a bundle of one shard
std::vector<std::byte> bundle_entry_bytes(const BundleEntry& entry);

int32_t tensorflow_type(DType dtype);

}  // namespace berth
