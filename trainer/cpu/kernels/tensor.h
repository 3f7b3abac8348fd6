#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "storage/base/dtype.h"

namespace berth {

// A view of row-major memory that belongs to a Kernels backend. A value; owns nothing. `data` may
// only be dereferenced where the backend computes.
struct Tensor {
  std::byte* data = nullptr;
  DType dtype = DType::kF32;
  int rank = 0;
  std::array<int64_t, 3> shape{};

  explicit operator bool() const { return data != nullptr; }

  int64_t elements() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= shape[i];
    return count;
  }
  size_t size_bytes() const { return static_cast<size_t>(elements()) * size_of(dtype); }
  int64_t rows() const { return shape[0]; }
  int64_t columns() const {  // elements of a row, of which there may be none
    int64_t count = 1;
    for (int i = 1; i < rank; ++i) count *= shape[i];
    return count;
  }

  // The same elements as [rows, columns].
  Tensor as_matrix() const {
    return {.data = data, .dtype = dtype, .rank = 2, .shape = {rows(), columns()}};
  }

  float* f32() const {
    assert(dtype == DType::kF32);
    return reinterpret_cast<float*>(data);
  }
  uint16_t* bf16() const {
    assert(dtype == DType::kBF16);
    return reinterpret_cast<uint16_t*>(data);
  }
  int32_t* i32() const {
    assert(dtype == DType::kI32);
    return reinterpret_cast<int32_t*>(data);
  }

  // The first `count` rows, or rows [begin, begin + count).
  Tensor first(int64_t count) const { return slice(0, count); }
  Tensor slice(int64_t begin, int64_t count) const {
    assert(rank > 0 && begin >= 0 && begin + count <= shape[0]);
    Tensor part = *this;
    part.data += static_cast<size_t>(begin * columns()) * size_of(dtype);
    part.shape[0] = count;
    return part;
  }
};

// Memory of a backend, zeroed when allocated and freed with its owner.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual std::byte* data() const = 0;
  virtual size_t size_bytes() const = 0;
};

// Hands out tensors from one block, each aligned to 64 bytes, in call order. Two passes make an
// exact fit: a planning Arena (no memory) counts, a second one over memory of that size hands out.
class Arena {
 public:
  Arena() = default;  // planning: tensors have shapes but null data
  explicit Arena(const Memory& memory) : base_(memory.data()), capacity_(memory.size_bytes()) {}

  Tensor make(DType dtype, std::initializer_list<int64_t> shape);
  // Where the next tensor begins; going back there, those made since lose their memory to the next.
  size_t position() const { return used_; }
  void go_back(size_t position) { used_ = position; }
  void go_on_to(size_t position);                   // rounded up, unless it is there or beyond
  size_t used_bytes() const { return most_used_; }  // the most at once

 private:
  std::byte* base_ = nullptr;
  size_t capacity_ = 0, used_ = 0, most_used_ = 0;
};

}  // namespace berth
