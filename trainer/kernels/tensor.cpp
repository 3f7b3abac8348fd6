#include "trainer/kernels/tensor.h"

#include <algorithm>

namespace berth {

Tensor Arena::make(DType dtype, std::initializer_list<int64_t> shape) {
  constexpr size_t kAlignment = 64;
  Tensor tensor{.dtype = dtype, .rank = static_cast<int>(shape.size())};
  std::copy(shape.begin(), shape.end(), tensor.shape.begin());
  const size_t size = tensor.size_bytes();
  if (base_ != nullptr) {
    assert(used_ + size <= capacity_);
    tensor.data = base_ + used_;
  }
  used_ += (size + kAlignment - 1) / kAlignment * kAlignment;
  most_used_ = std::max(most_used_, used_);
  return tensor;
}

}  // namespace berth
