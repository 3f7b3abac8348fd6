#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"

namespace berth {

// Vectors for each row of a table, which the model should predict: what a teacher makes of the row.
// A row has one vector, or one for each of its tokens. Rows may be set by several threads, each row
// by one of them; reading is thread-safe once all are set.
class RowTargets {
 public:
  // One vector of `width` numbers for each row. `dtype` is the type in which the numbers are
  // stored: kBF16, which rounds them, or kF32.
  RowTargets(size_t rows, size_t width, DType dtype);
  // `vectors` has the number of vectors of each row.
  RowTargets(std::span<const uint32_t> vectors, size_t width, DType dtype);

  size_t rows() const { return first_.size() - 1; }
  size_t width() const { return width_; }
  DType dtype() const { return dtype_; }

  // Sets the vectors of a row from its vector `first` on. `numbers` are whole vectors.
  void set(uint32_t row, std::span<const float> numbers, size_t first = 0);
  // Appends `count` vectors of the row to `out`, from its vector `first` on.
  void append_to(uint32_t row, std::vector<float>& out, size_t first = 0, size_t count = 1) const;

  // The numbers of a row in the type in which they are kept.
  Bytes bytes(uint32_t row) const { return Bytes(values_).subspan(begin(row), row_bytes(row)); }
  void set_bytes(uint32_t row, Bytes bytes);
  size_t row_bytes(uint32_t row) const { return begin(row + 1) - begin(row); }

 private:
  // Where the row begins in the values.
  size_t begin(size_t row) const { return first_[row] * vector_bytes_; }

  size_t width_;
  DType dtype_;
  size_t vector_bytes_;
  std::vector<uint64_t> first_;  // the first vector of each row, and the number of all
  std::vector<std::byte> values_;
};

}  // namespace berth
