#pragma once

#include <cstdint>
#include <span>

#include "trainer/cpu/kernels/tensor.h"

// The arguments of the optimizer's operations in kernels.h. All these structs are values that
// borrow their tensors for one call.
namespace berth {

// Facts about a row of an embedding table's gradient and moments, as bits of an int32 for each row.
// A row without a bit holds zeros there, so an update need not read it: most rows are in no text. A
// bit that is set without need is harmless.
enum RowMark : int32_t { kHasGradient = 1, kHasMoments = 2 };

// The gradient dy^T x [N,K] of a matrix as its two factors. For a batch of few tokens these are
// smaller than their product, and quicker to store until the update.
struct FactoredGradient {
  ConstTensor dy, x;  // [T,N], [T,K], both in product_dtype()

  explicit operator bool() const { return static_cast<bool>(dy); }
};

// One gradient, for the sum of its squares: either its values or its factors.
struct Gradient {
  ConstTensor values{};  // of any shape, fp32 or product_dtype()
  FactoredGradient factors{};
  // The RowMarks of a table that is looked up. Rows without kHasGradient are not read. Null: all
  // values are read.
  ConstTensor marks{};
};

// One parameter, or neighbours in memory that are updated alike: what an update reads and writes,
// and how. All tensors have the same number of elements; w, m and v are fp32.
struct UpdateRange {
  Tensor w;
  // The gradient is either g, in fp32 or product_dtype(), or the factors. Then w is one matrix.
  Tensor g{};
  FactoredGradient factors{};
  Tensor m, v;     // the first and the second moment
  Tensor marks{};  // the RowMarks of a table that is looked up; null for other parameters
  float weight_decay = 0;
  float rate_scale = 1;  // times the step's learning rate
  bool adapts = true;    // whether LAMB scales the step by the size of the weights
  // Whether g is set to zero, for the next update to add to. Only an fp32 gradient can be.
  bool zeroes_gradient = true;
};

// Sums of squares by which LAMB scales a step.
struct LambSquares {
  double weights = 0, steps = 0;
};

// What an update of all elements reads and writes: weights and moments twice, gradients once.
inline double bytes_of(std::span<const UpdateRange> ranges) {
  double sum = 0;
  for (const UpdateRange& range : ranges) {
    sum += 2 * bytes_of({range.w, range.m, range.v}) + bytes_of({range.g});
  }
  return sum;
}

}  // namespace berth
