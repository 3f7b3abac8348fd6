#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/formats/tensor_bundle/bundle_entry.h"

namespace berth {

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

}  // namespace berth
