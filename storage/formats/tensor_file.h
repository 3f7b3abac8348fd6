#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"

namespace berth {

// A tensor as a file holds it: row-major, little-endian.
struct NamedTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape{};
  // elements x size_of(dtype), borrowed; empty where the file holds them in another order:
  // TensorReader::read().
  Bytes data{};

  int64_t elements() const {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return count;
  }
  int64_t rows() const { return shape.empty() ? 1 : shape[0]; }
};

// A file of named tensors. Thread-safe once built.
class TensorReader {
 public:
  virtual ~TensorReader() = default;

  // All tensors, in file order; their data is borrowed from the reader.
  virtual std::span<const NamedTensor> tensors() const = 0;

  // `count` rows of one of its tensors (slices of its first dimension), from `first_row` on; put in
  // order in `memory` where the file has another order, and then valid until that is used again.
  virtual Bytes read_rows(const NamedTensor& tensor, int64_t first_row, int64_t count,
                          std::vector<std::byte>& memory) const {
    static_cast<void>(memory);
    if (tensor.rows() == 0) return {};
    const size_t row_bytes = tensor.data.size() / static_cast<size_t>(tensor.rows());
    return tensor.data.subspan(static_cast<size_t>(first_row) * row_bytes,
                               static_cast<size_t>(count) * row_bytes);
  }
  // All of its rows.
  Bytes read(const NamedTensor& tensor, std::vector<std::byte>& memory) const {
    return read_rows(tensor, 0, tensor.rows(), memory);
  }

  // Throws kCorrupt, naming the tensor, where bytes are not what was written. Most readers compare
  // the checksums that their format has when they open a file; one that does it afterwards, while
  // its tensors are read already, is done when this returns.
  virtual void verify() const {}

  // nullptr: no such name.
  const NamedTensor* find(std::string_view name) const {
    for (const NamedTensor& tensor : tensors()) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
};

}  // namespace berth
