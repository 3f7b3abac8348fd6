#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace berth {

// Two texts have the same hash only if they are equal, but for a chance of n^2 / 2^129 among n
// texts. It is no protection against somebody who searches for two texts with one hash.
struct TextHash {
  uint64_t low = 0, high = 0;
  bool operator==(const TextHash&) const = default;
};
TextHash hash_text(std::string_view text);

// Mixes the bits of a number, so that each bit of the result depends on each bit of `value`. A
// permutation of the 64-bit numbers.
constexpr uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 32)) * 0xD6E8FEB86659FD93;
  value = (value ^ (value >> 29)) * 0xA0761D6478BD642F;
  return value ^ (value >> 32);
}

// The hashes of the texts that were seen. It takes 21 to 43 bytes for each, and half as much again
// for a moment while it grows. Not thread-safe.
class TextHashSet {
 public:
  // Whether the hash was not in the set yet.
  bool insert(TextHash hash);

  size_t size() const { return count_; }
  size_t memory_bytes() const { return slots_.size() * sizeof(TextHash); }

 private:
  size_t place_of(TextHash hash) const;
  void grow();

  std::vector<TextHash> slots_;  // a power of two; {0, 0}: empty
  size_t count_ = 0;
};

}  // namespace berth
