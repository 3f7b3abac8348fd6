#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"
#include "storage/base/protobuf_wire.h"

// The messages in a checkpoint's index, and string tensors. Thread-safe.
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

// The key under which a slice of a partitioned variable is stored. It is the OrderedCode
// (tensorflow/core/lib/strings/ordered_code.cc, util/saved_tensor_slice_util.cc) of
//
//   0 | name | rank | start, length of each dimension (0, -1 for a whole one)
//
//   number:        the count of its bytes, then those bytes, big-endian
//   string:        00 and FF are escaped; ends with 00 01
//   signed number: n bytes, big-endian, with the first n bits inverted, so that -64 to 63 take one
std::string slice_key(std::string_view name, const TensorSlice& slice);

// Whether a key belongs to a slice rather than to a variable.
inline bool is_slice_key(std::string_view key) { return !key.empty() && key.front() == '\0'; }

// A string tensor as a checkpoint stores it (tensorflow/core/util/tensor_bundle):
//
//   varint size of each element | u32 masked crc32c of the sizes | the elements' bytes
//
// The checksum of the sizes covers each as a little-endian u32, or as a u64 above 2^32 - 1.

// Returns the checksum that the tensor's index entry must have. It covers the sizes in that form,
// the four checksum bytes after them, and the elements. Throws kCorrupt, naming the byte of `data`,
// if the sizes are damaged.
uint32_t string_tensor_crc32c(Bytes data, int64_t elements);

// Returns the elements, borrowed from `data`. Throws kCorrupt, also above a million elements.
std::vector<std::string_view> string_tensor_elements(Bytes data, int64_t elements);

}  // namespace berth
