#include "trainer/data/row_targets.h"

#include <cassert>

#include "storage/base/half.h"

namespace berth {

void RowTargets::set(uint32_t row, std::span<const float> vector) {
  assert(vector.size() == width_);
  uint16_t* out = values_.data() + row * width_;
  for (const float value : vector) *out++ = to_bf16(value);
}

void RowTargets::append_to(uint32_t row, std::vector<float>& out) const {
  const uint16_t* values = values_.data() + row * width_;
  for (size_t i = 0; i < width_; ++i) out.push_back(from_bf16(values[i]));
}

}  // namespace berth
