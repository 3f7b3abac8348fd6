#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// A view of an array: element (i, j, ...) lies at i x stride[0] + j x stride[1] + ... All counts
// are in elements, none negative; both spans have one length, and outlive it.
struct Strided {
  std::span<const int64_t> shape, stride;

  bool is_empty() const;  // has no elements

  // False: more elements than 2^63.
  bool counts(uint64_t& elements) const;

  // Whether an array of `elements` has all of the view from `offset` on.
  bool fits(uint64_t offset, uint64_t elements) const;

  // Whether it lies row-major without gaps, so that it needs no copy.
  bool is_contiguous() const;

  // Its elements of `element_size` bytes in row-major order, from the array at `first`. It fits.
  std::vector<std::byte> gather(const std::byte* first, size_t element_size) const;
};

}  // namespace berth
