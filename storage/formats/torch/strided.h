#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// A strided view of an array: element (i, j, ...) is at index i x stride[0] + j x stride[1] + ...
// All values are counts of elements and not negative. Both spans have the same length and must
// outlive this object.
struct Strided {
  std::span<const int64_t> shape, stride;

  bool is_empty() const;  // has no elements

  // Computes the number of elements. Returns false if it exceeds 2^63 - 1.
  bool counts(uint64_t& elements) const;

  // Whether the view, starting at `offset`, lies within an array of `elements` elements.
  bool fits(uint64_t offset, uint64_t elements) const;

  // Whether the elements are row-major without gaps, so that no copy is needed.
  bool is_contiguous() const;

  // Copies the elements, each of `element_size` bytes, in row-major order. `first` points to the
  // view's first element. Requires fits().
  std::vector<std::byte> gather(const std::byte* first, size_t element_size) const;
};

}  // namespace berth
