#pragma once

#include <cstddef>
#include <vector>

#include "storage/base/bytes.h"

// Snappy's raw format. Thread-safe.
namespace berth {

// Decodes Snappy's raw format (github.com/google/snappy, format_description.txt) into `out`, which
// it resizes:
//
//   varint size | elements, each with a tag byte whose low two bits give its kind:
//     00 literal: size - 1 in the upper six bits, or 60 to 63 if it is in the next 1 to 4 bytes
//     01 copy of 4 to 11 bytes, offset of 11 bits | 10 copy, offset u16 | 11 copy, offset u32
//
// Throws kCorrupt, naming the byte of `compressed`. Resizes to at most 22 times its size.
void snappy_decode(Bytes compressed, std::vector<std::byte>& out);

}  // namespace berth
