#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"

namespace berth {

// Numbers for each row of a table, which the model should predict: what a teacher makes of the row.
// Rows may be set by several threads, each row by one of them; reading is thread-safe once all are
// set.
class RowTargets {
 public:
  // `dtype` is the type in which the numbers are kept: kBF16, which rounds them, or kF32.
  RowTargets(size_t rows, size_t width, DType dtype);

  size_t rows() const { return values_.size() / row_bytes_; }
  size_t width() const { return width_; }
  DType dtype() const { return dtype_; }
  size_t memory_bytes() const { return values_.size(); }

  // `numbers` are as many as the width.
  void set(uint32_t row, std::span<const float> numbers);
  // Appends the row's numbers to `out`.
  void append_to(uint32_t row, std::vector<float>& out) const;

  // The numbers of a row in the type in which they are kept.
  Bytes bytes(uint32_t row) const { return Bytes(values_).subspan(row * row_bytes_, row_bytes_); }
  void set_bytes(uint32_t row, Bytes bytes);
  size_t row_bytes() const { return row_bytes_; }

 private:
  size_t width_;
  DType dtype_;
  size_t row_bytes_;
  std::vector<std::byte> values_;
};

}  // namespace berth
