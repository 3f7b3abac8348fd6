#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/error.h"

namespace berth {

// Whether `read` takes these bytes. Anything but an Error or a clean end (a crash, a hang, a
// foreign exception) fails the test by itself.
inline bool accepts(const std::function<void(Bytes)>& read, Bytes bytes) {
  try {
    read(bytes);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The sizes of the proper prefixes of `file` that `read` takes. Each prefix is a heap block of its
// own, so that AddressSanitizer sees a read past its end.
inline std::vector<size_t> accepted_prefixes(Bytes file, const std::function<void(Bytes)>& read) {
  std::vector<size_t> sizes;
  for (size_t size = 0; size < file.size(); ++size) {
    const std::vector<std::byte> prefix(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
    if (accepts(read, prefix)) sizes.push_back(size);
  }
  return sizes;
}

// The bits of `file` (8 x byte + bit) that `read` does not miss when one of them alone is flipped.
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
