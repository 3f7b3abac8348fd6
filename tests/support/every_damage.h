#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/error.h"

namespace berth {

// Whether `read` accepts these bytes. False if it throws an Error. Anything else (a crash, a hang,
// another exception) fails the test.
inline bool accepts(const std::function<void(Bytes)>& read, Bytes bytes) {
  try {
    read(bytes);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The sizes of the proper prefixes of `file` that `read` accepts, among each `stride`-th one from
// `first` on. Each prefix is copied to its own heap block, so that AddressSanitizer detects a read
// past its end.
inline std::vector<size_t> accepted_prefixes(Bytes file, const std::function<void(Bytes)>& read,
                                             size_t first = 0, size_t stride = 1) {
  std::vector<size_t> sizes;
  for (size_t size = first; size < file.size(); size += stride) {
    const std::vector<std::byte> prefix(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
    if (accepts(read, prefix)) sizes.push_back(size);
  }
  return sizes;
}

// The bits of `file` (numbered 8 x byte + bit) whose flip alone `read` still accepts.
inline std::vector<size_t> accepted_flips(Bytes file, const std::function<void(Bytes)>& read) {
  std::vector<size_t> bits;
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::vector<std::byte> flipped(file.begin(), file.end());
    flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    if (accepts(read, flipped)) bits.push_back(bit);
  }
  return bits;
}

}  // namespace berth
