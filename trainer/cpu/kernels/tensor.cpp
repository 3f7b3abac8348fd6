#include "trainer/cpu/kernels/tensor.h"

#include <algorithm>
#include <cstring>

namespace berth {

namespace {

size_t aligned(size_t position) {
  constexpr size_t kLine = 64;
  return (position + kLine - 1) / kLine * kLine;
}

}  // namespace

void copy_in(Tensor to, const void* from) {
  if (to.size_bytes() != 0) std::memcpy(to.data, from, to.size_bytes());
}

void copy_out(ConstTensor from, void* to) {
  if (from.size_bytes() != 0) std::memcpy(to, from.data, from.size_bytes());
}

Tensor Arena::make(DType dtype, std::initializer_list<int64_t> shape) {
  Tensor tensor{.dtype = dtype, .rank = static_cast<int>(shape.size())};
  std::copy(shape.begin(), shape.end(), tensor.shape.begin());
  const size_t size = tensor.size_bytes();
  if (base_ != nullptr) {
    assert(used_ + size <= capacity_);
    tensor.data = base_ + used_;
  }
  go_on_to(used_ + size);
  return tensor;
}

void Arena::go_on_to(size_t position) {
  used_ = std::max(used_, aligned(position));
  most_used_ = std::max(most_used_, used_);
}

}  // namespace berth
