#include "trainer/data/row_targets.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "storage/base/half.h"

namespace berth {
namespace {

std::vector<uint64_t> running_sums(std::span<const uint32_t> counts) {
  std::vector<uint64_t> sums = {0};
  sums.reserve(counts.size() + 1);
  for (const uint32_t count : counts) sums.push_back(sums.back() + count);
  return sums;
}

}  // namespace

RowTargets::RowTargets(size_t rows, size_t width, DType dtype)
    : RowTargets(std::vector<uint32_t>(rows, 1), width, dtype) {}

RowTargets::RowTargets(std::span<const uint32_t> vectors, size_t width, DType dtype)
    : width_(width),
      dtype_(dtype),
      vector_bytes_(width * size_of(dtype)),
      first_(running_sums(vectors)),
      values_(first_.back() * vector_bytes_) {
  assert(dtype == DType::kBF16 || dtype == DType::kF32);
}

void RowTargets::set(uint32_t row, std::span<const float> numbers, size_t first) {
  assert(numbers.size() % width_ == 0);
  assert(first * vector_bytes_ + numbers.size() * size_of(dtype_) <= row_bytes(row));
  std::byte* out = values_.data() + begin(row) + first * vector_bytes_;
  if (dtype_ == DType::kF32) {
    std::memcpy(out, numbers.data(), numbers.size_bytes());
    return;
  }
  for (const float number : numbers) {
    const uint16_t rounded = to_bf16(number);
    std::memcpy(out, &rounded, sizeof rounded);
    out += sizeof rounded;
  }
}

void RowTargets::append_to(uint32_t row, std::vector<float>& out, size_t first,
                           size_t count) const {
  const Bytes from = bytes(row).subspan(first * vector_bytes_, count * vector_bytes_);
  const size_t before = out.size(), numbers = count * width_;
  out.resize(before + numbers);
  if (dtype_ == DType::kF32) {
    std::memcpy(out.data() + before, from.data(), from.size());
    return;
  }
  for (size_t i = 0; i < numbers; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from.data() + i * sizeof bits, sizeof bits);
    out[before + i] = from_bf16(bits);
  }
}

void RowTargets::set_bytes(uint32_t row, Bytes bytes) {
  assert(bytes.size() == row_bytes(row));
  std::ranges::copy(bytes, values_.begin() + static_cast<std::ptrdiff_t>(begin(row)));
}

}  // namespace berth
