#include "trainer/data/row_targets.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "storage/base/half.h"

namespace berth {

RowTargets::RowTargets(size_t rows, size_t width, DType dtype)
    : width_(width), dtype_(dtype), row_bytes_(width * size_of(dtype)), values_(rows * row_bytes_) {
  assert(dtype == DType::kBF16 || dtype == DType::kF32);
}

void RowTargets::set(uint32_t row, std::span<const float> numbers) {
  assert(numbers.size() == width_);
  std::byte* out = values_.data() + row * row_bytes_;
  if (dtype_ == DType::kF32) {
    std::memcpy(out, numbers.data(), row_bytes_);
    return;
  }
  for (const float number : numbers) {
    const uint16_t rounded = to_bf16(number);
    std::memcpy(out, &rounded, sizeof rounded);
    out += sizeof rounded;
  }
}

void RowTargets::append_to(uint32_t row, std::vector<float>& out) const {
  const std::byte* values = bytes(row).data();
  const size_t first = out.size();
  out.resize(first + width_);
  if (dtype_ == DType::kF32) {
    std::memcpy(out.data() + first, values, row_bytes_);
    return;
  }
  for (size_t i = 0; i < width_; ++i) {
    uint16_t bits;
    std::memcpy(&bits, values + i * sizeof bits, sizeof bits);
    out[first + i] = from_bf16(bits);
  }
}

void RowTargets::set_bytes(uint32_t row, Bytes bytes) {
  assert(bytes.size() == row_bytes_);
  std::ranges::copy(bytes, values_.begin() + static_cast<std::ptrdiff_t>(row * row_bytes_));
}

}  // namespace berth
