#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"
#include "storage/base/error.h"

namespace berth {

// One tensor of a file, row-major and little-endian.
struct NamedTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape{};
  // The elements, borrowed. Empty if the file stores them in a different order: then use
  // TensorReader::read().
  Bytes data{};

  int64_t elements() const { return element_count(shape); }
  int64_t rows() const { return shape.empty() ? 1 : shape[0]; }
};

// A file of named tensors. Thread-safe once built.
class TensorReader {
 public:
  virtual ~TensorReader() = default;

  // All tensors, in file order. Their data are borrowed from the reader.
  virtual std::span<const NamedTensor> tensors() const = 0;

  // Returns `count` rows of a tensor of this reader (slices of its first dimension), starting at
  // `first_row`. If the file stores the tensor in a different order, the rows are put into
  // row-major order in `memory`. They are then valid until `memory` is changed.
  virtual Bytes read_rows(const NamedTensor& tensor, int64_t first_row, int64_t count,
                          std::vector<std::byte>& memory) const {
    static_cast<void>(memory);
    if (tensor.rows() == 0) return {};
    const size_t row_bytes = tensor.data.size() / static_cast<size_t>(tensor.rows());
    return tensor.data.subspan(static_cast<size_t>(first_row) * row_bytes,
                               static_cast<size_t>(count) * row_bytes);
  }
  // Returns the whole tensor, under the same conditions.
  Bytes read(const NamedTensor& tensor, std::vector<std::byte>& memory) const {
    return read_rows(tensor, 0, tensor.rows(), memory);
  }

  // Throws kCorrupt, naming the tensor, if bytes differ from what was written. Most readers compare
  // their format's checksums when they open the file, and then this does nothing. A reader that
  // compares them later, while its tensors are already in use, has finished when this returns.
  virtual void verify() const {}

  // Returns nullptr if there is no tensor of this name.
  const NamedTensor* find(std::string_view name) const {
    for (const NamedTensor& tensor : tensors()) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
};

// Throws kBadData if a file is a pointer of git-lfs, which stands in place of a file that was not
// fetched.
inline void refuse_lfs_pointer(std::string_view content) {
  if (!content.starts_with("version https://git-lfs")) return;
  throw Error(Code::kBadData, "is a pointer of git-lfs, not the file itself", "",
              "run git lfs pull");
}

}  // namespace berth
