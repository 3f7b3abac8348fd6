#include "trainer/cpu/cpu_tensors.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace berth {

void CpuTensors::read(size_t index, int64_t first, std::span<float> values) const {
  const Tensor tensor = tensor_of_(index);
  assert(tensor && first + static_cast<int64_t>(values.size()) <= tensor.elements());
  std::copy_n(tensor.f32() + first, values.size(), values.begin());
}

void CpuTensors::write(size_t index, int64_t first, Bytes values) {
  const Tensor tensor = tensor_of_(index);
  assert(tensor &&
         static_cast<size_t>(first) * sizeof(float) + values.size() <= tensor.size_bytes());
  written_ = true;
  if (!values.empty()) std::memcpy(tensor.f32() + first, values.data(), values.size());
}

}  // namespace berth
