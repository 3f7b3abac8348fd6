#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace berth {

// A vector for each row of a table, which the model should predict: what a teacher makes of the
// row. The numbers are kept as bf16, in 2 * rows * width bytes. Rows may be set by several threads,
// each row by one of them; reading is thread-safe once all are set.
class RowTargets {
 public:
  RowTargets(size_t rows, size_t width) : width_(width), values_(rows * width) {}

  size_t rows() const { return values_.size() / width_; }
  size_t width() const { return width_; }
  size_t memory_bytes() const { return values_.size() * sizeof(uint16_t); }

  // `vector` has `width` numbers.
  void set(uint32_t row, std::span<const float> vector);
  // Appends the row's numbers to `out`.
  void append_to(uint32_t row, std::vector<float>& out) const;

  // All numbers as bf16 [rows, width], row-major.
  std::span<uint16_t> values() { return values_; }
  std::span<const uint16_t> values() const { return values_; }

 private:
  size_t width_;
  std::vector<uint16_t> values_;
};

}  // namespace berth
