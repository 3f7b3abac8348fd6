#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// A tensor of strings, as a bundle stores it (tensorflow/core/util/tensor_bundle):
//
//   varint size of each element | u32 masked crc32c of the sizes | the elements' bytes
//
// where the sizes are checksummed as u32 each (u64 where above 2^32 - 1), little-endian.

// The checksum of the tensor's index entry: of the sizes in that form, the four bytes after them,
// and the elements. Throws kCorrupt, naming the byte of `data`, on damage to the sizes.
uint32_t string_tensor_crc32c(Bytes data, int64_t elements);

// The elements, borrowed from `data`. Throws kCorrupt; kMemory above a million elements.
std::vector<std::string_view> string_tensor_elements(Bytes data, int64_t elements);

}  // namespace berth
