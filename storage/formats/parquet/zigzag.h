#pragma once

#include <cstdint>

namespace berth {

// The signed number that a varint holds in zigzag form: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
inline int64_t from_zigzag(uint64_t bits) {
  return static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
}

}  // namespace berth
