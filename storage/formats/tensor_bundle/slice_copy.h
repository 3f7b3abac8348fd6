#pragma once

#include <span>
#include <vector>

#include "storage/formats/tensor_bundle/bundle_entry.h"

namespace berth {

// A slice with an explicit start and length for every dimension.
struct SliceBox {
  std::vector<int64_t> start, length;
  int64_t elements() const;
};

// Throws kCorrupt unless the variable's slices lie within its shape and cover it without holes or
// overlaps.
std::vector<SliceBox> slice_boxes(const BundleEntry& variable);

// Copies a row-major slice to its place in a row-major tensor of `shape`.
void copy_slice(Bytes slice, const SliceBox& box, const std::vector<int64_t>& shape,
                size_t element_size, std::span<std::byte> tensor);

}  // namespace berth
