#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

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
