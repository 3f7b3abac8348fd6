#pragma once

#include <algorithm>
#include <numeric>

#include "trainer/xla/stablehlo/graph.h"

// Lists of the numbers of dimensions.
namespace berth::stablehlo {

// first, first + 1, ...
inline Dims range(size_t first, size_t count) {
  Dims dims(count);
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(first));
  return dims;
}

// The dimensions [0, rank) that are not in `dims`.
inline Dims others(int64_t rank, const Dims& dims) {
  Dims rest;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) rest.push_back(i);
  }
  return rest;
}

// Whether each is a dimension of a tensor of this rank, and none occurs twice.
inline bool are_distinct(int64_t rank, const Dims& dims) {
  return others(rank, dims).size() + dims.size() == static_cast<size_t>(rank);
}

inline Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The sizes of these dimensions.
inline Dims sizes(const Dims& shape, const Dims& dims) {
  Dims result;
  for (const int64_t dim : dims) result.push_back(shape[static_cast<size_t>(dim)]);
  return result;
}

// The permutation that undoes another.
inline Dims inverse(const Dims& permutation) {
  Dims result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    result[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  }
  return result;
}

}  // namespace berth::stablehlo
