#include "storage/formats/tensor_bundle/slice_copy.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

SliceBox box_of(const TensorSlice& slice, const std::vector<int64_t>& shape) {
  if (slice.size() != shape.size()) {
    throw Error(Code::kCorrupt,
                cat("has ", slice.size(), " dimensions, but its variable has ", shape.size()));
  }
  SliceBox box;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t start = slice[i].start, length = slice[i].length.value_or(shape[i]);
    if (start < 0 || length < 0 || start > shape[i] || length > shape[i] - start) {
      throw Error(Code::kCorrupt, cat("takes ", length, " elements from index ", start,
                                      " on in dimension ", i, ", which has ", shape[i]));
    }
    box.start.push_back(start);
    box.length.push_back(length);
  }
  return box;
}

bool overlap(const SliceBox& a, const SliceBox& b) {
  if (a.elements() == 0 || b.elements() == 0) return false;
  for (size_t i = 0; i < a.start.size(); ++i) {
    if (a.start[i] >= b.start[i] + b.length[i] || b.start[i] >= a.start[i] + a.length[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

int64_t SliceBox::elements() const {
  int64_t count = 1;
  for (const int64_t size : length) count *= size;
  return count;
}

std::vector<SliceBox> slice_boxes(const BundleEntry& variable) {
  std::vector<SliceBox> boxes;
  int64_t covered = 0;
  for (size_t i = 0; i < variable.slices.size(); ++i) {
    try {
      boxes.push_back(box_of(variable.slices[i], variable.shape));
    } catch (const Error& error) {
      throw error.at(cat("slice ", i));
    }
    for (size_t j = 0; j < i; ++j) {
      if (overlap(boxes[i], boxes[j])) {
        throw Error(Code::kCorrupt, cat("slices ", j, " and ", i, " overlap"));
      }
    }
    // The boxes are disjoint, so the sum never exceeds the size of the variable.
    covered += boxes[i].elements();
  }
  if (covered != variable.elements()) {
    throw Error(Code::kCorrupt,
                cat("the slices have ", covered, " of ", variable.elements(), " elements"));
  }
  return boxes;
}

void copy_slice(Bytes slice, const SliceBox& box, const std::vector<int64_t>& shape,
                size_t element_size, std::span<std::byte> tensor) {
  if (slice.empty()) return;
  // The last dimensions that the slice covers completely, and the one before them, are contiguous
  // in both the slice and the tensor.
  size_t outer = shape.size();
  size_t run = element_size;  // contiguous bytes
  while (outer > 0) {
    --outer;
    run *= static_cast<size_t>(box.length[outer]);
    if (box.length[outer] != shape[outer]) break;
  }
  std::vector<int64_t> position(outer);  // index within the slice
  for (size_t done = 0; done < slice.size(); done += run) {
    size_t target = 0;  // element index in the tensor
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t index = box.start[i] + (i < outer ? position[i] : 0);
      target = target * static_cast<size_t>(shape[i]) + static_cast<size_t>(index);
    }
    const Bytes row = slice.subspan(done, run);
    std::copy(row.begin(), row.end(), tensor.subspan(target * element_size, run).begin());
    for (size_t i = outer; i-- > 0 && ++position[i] == box.length[i];) position[i] = 0;
  }
}

}  // namespace berth
