#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"

// The numbers that travel between ranks, as they lie in a message: fp32, or bf16 as Bf16. The
// conversions are written as loops that compilers vectorize. They round as to_bf16() does.
namespace berth {

struct Bf16 {
  uint16_t bits;
};

inline void encode(std::span<const float> values, Bf16* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(values[i]);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    out[i].bits = static_cast<uint16_t>(is_nan ? quiet : rounded);
  }
}
// Numbers that are already what travels are copied.
inline void encode(std::span<const float> values, float* out) { std::ranges::copy(values, out); }
inline void encode(std::span<const Bf16> values, Bf16* out) { std::ranges::copy(values, out); }

inline float decode(Bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
inline float decode(float value) { return value; }

template <typename Element>
void decode(const Element* values, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = decode(values[i]);
}

inline void decode(const Bf16* values, std::span<Bf16> out) {
  std::copy_n(values, out.size(), out.begin());
}

template <typename Element>
void accumulate(const Element* values, std::span<float> sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += decode(values[i]);
}

// The numbers of a message. Memory that a vector allocates is aligned for them.
template <typename Element>
Element* numbers_of(std::vector<std::byte>& bytes) {
  return reinterpret_cast<Element*>(bytes.data());
}

}  // namespace berth
