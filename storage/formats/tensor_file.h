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
};

// A file of named tensors. Thread-safe once built.
class TensorReader {
 public:
  virtual ~TensorReader() = default;

  // All tensors, in file order; their data is borrowed from the reader.
  virtual std::span<const NamedTensor> tensors() const = 0;

  // The data of one of its tensors; put in order in `memory` where the file has another order, and
  // then valid until that is used again.
  virtual Bytes read(const NamedTensor& tensor, std::vector<std::byte>&) const {
    return tensor.data;
  }

  // nullptr: no such name.
  const NamedTensor* find(std::string_view name) const {
    for (const NamedTensor& tensor : tensors()) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
};

}  // namespace berth
