#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/formats/tensor_bundle/bundle_entry.h"

namespace berth {

// The key under which a partitioned variable's slice is stored: OrderedCode
// (tensorflow/core/lib/strings/ordered_code.cc, util/saved_tensor_slice_util.cc) of
//
//   0 | name | rank | start, length of each dimension (a whole one: 0, -1)
//
// number: its count of bytes, then those, big-endian | string: 00 and FF escaped, then 00 01
// signed number: n bytes, big-endian, the first n bits inverted, so that -64 to 63 take one
std::string slice_key(std::string_view name, const TensorSlice& slice);

// Whether a key is a slice's, not a variable's.
inline bool is_slice_key(std::string_view key) { return !key.empty() && key.front() == '\0'; }

}  // namespace berth
