#pragma once

#include <span>
#include <vector>

#include "storage/formats/tensor_bundle/bundle_entry.h"

namespace berth {

// A slice with every length written out.
struct SliceBox {
  std::vector<int64_t> start, length;
  int64_t elements() const;
};

// Throws kCorrupt unless the variable's slices lie within its shape and tile it: no hole, no
// overlap.
std::vector<SliceBox> slice_boxes(const BundleEntry& variable);

// Copies a slice, row-major, to its place in a row-major tensor of `shape`.
void copy_slice(Bytes slice, const SliceBox& box, const std::vector<int64_t>& shape,
                size_t element_size, std::span<std::byte> tensor);

}  // namespace berth
