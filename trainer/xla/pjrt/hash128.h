#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

// A 128-bit hash of a sequence of texts, for names of cache entries. Different sequences get
// different hashes but for a chance of about 2^-128 a pair. It is no defence against someone who
// searches for two texts with the same hash.
//
// Philox 4x32-10 (storage/base/philox.h) as a block cipher in the Matyas-Meyer-Oseas mode (Menezes
// et al., Handbook of Applied Cryptography, 9.4.1): H_i = philox(block_i; key from H_{i-1}) ^
// block_i ^ H_{i-1}. Each text is preceded by its size.
class Hash128 {
 public:
  void add(std::string_view text);
  std::string hex() const;  // 32 digits

 private:
  void mix(const std::array<uint32_t, 4>& block);

  std::array<uint32_t, 4> state_ = {0x62657274, 0x68786c61, 0x63616368, 0x65763031};
};

}  // namespace berth
