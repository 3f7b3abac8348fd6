#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"
#include "storage/base/protobuf_wire.h"

namespace berth {

// The range of a slice in one dimension. Without a length it is the whole dimension.
struct SliceExtent {
  int64_t start = 0;
  std::optional<int64_t> length{};
};
using TensorSlice = std::vector<SliceExtent>;

// The description of one tensor in a checkpoint's index: BundleEntryProto
// (tensorflow/core/protobuf/tensor_bundle.proto).
struct BundleEntry {
  std::string name;
  int32_t type = 0;              // TensorFlow's DataType
  std::vector<int64_t> shape{};  // no size is negative; the product fits int64_t
  int32_t shard = 0;
  uint64_t offset = 0, size_bytes = 0;  // within the shard; both 0 for a partitioned variable
  uint32_t crc32c = 0;                  // not masked
  std::vector<TensorSlice>
      slices{};  // not empty: a partitioned variable, whose data are in these slices

  int64_t elements() const;
  bool is_string() const;
  bool is_opaque() const;  // a resource or variant: only TensorFlow understands its bytes
  std::optional<DType> dtype() const;  // nullopt if the element type is not supported
  std::string_view type_name() const;  // numpy's name: "float32", "string", "complex64"
};

// BundleHeaderProto, which is stored under the empty key.
struct BundleHeader {
  int32_t num_shards = 1;
};

// Both throw kCorrupt, naming the tensor or the field, if the message is invalid, and kBadData if
// the checkpoint is not supported: big-endian data, a later version, or an unknown shape.
BundleHeader parse_bundle_header(Bytes value);
BundleEntry parse_bundle_entry(std::string_view name, Bytes value);

std::vector<std::byte> bundle_header_bytes();  // for a checkpoint with one shard
std::vector<std::byte> bundle_entry_bytes(const BundleEntry& entry);

int32_t tensorflow_type(DType dtype);

}  // namespace berth
