#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "storage/base/dtype.h"

namespace berth {

// A block of memory that is zero at first, aligned to 64 bytes and freed with its owner. Large
// blocks come from the system on huge pages, which take no memory until they are touched. Small
// ones come from the heap, where sanitizers see their ends.
class Memory {
 public:
  Memory() = default;  // no block
  // Throws kMemory when there is not enough.
  explicit Memory(size_t size_bytes);
  ~Memory();
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept;

  explicit operator bool() const { return data_ != nullptr; }
  std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }

 private:
  void map();

  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
  void* mapped_ = nullptr;  // where the system's mapping begins; null: the block is the heap's
};

// Says that much of this part of a block, to which nothing was written yet, may stay untouched.
// From now on it lies on small pages, so that untouched parts take no memory.
void expect_sparse(std::byte* data, size_t size_bytes);

// A view of a row-major array of at most three dimensions. A view is a value that owns nothing: the
// memory must outlive it. A null view (no data) stands for an optional tensor that is absent.
// `Byte` is std::byte where the elements may be written, and const std::byte where they may not.
template <typename Byte>
struct TensorView {
  // T as this view may access it.
  template <typename T>
  using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  Byte* data = nullptr;
  DType dtype = DType::kF32;
  int rank = 0;
  std::array<int64_t, 3> shape{};

  explicit operator bool() const { return data != nullptr; }
  // Whatever may be written may also be read.
  operator TensorView<const std::byte>() const requires(!std::is_const_v<Byte>) {
    return {.data = data, .dtype = dtype, .rank = rank, .shape = shape};
  }

  int64_t elements() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= shape[i];
    return count;
  }
  size_t size_bytes() const { return static_cast<size_t>(elements()) * size_of(dtype); }
  int64_t rows() const { return shape[0]; }
  // The number of elements in a row: the product of all dimensions but the first.
  int64_t columns() const {
    int64_t count = 1;
    for (int i = 1; i < rank; ++i) count *= shape[i];
    return count;
  }

  // The same elements as [rows, columns].
  TensorView as_matrix() const {
    return {.data = data, .dtype = dtype, .rank = 2, .shape = {rows(), columns()}};
  }

  // The elements. The dtype is asserted.
  Element<float>* f32() const {
    assert(dtype == DType::kF32);
    return reinterpret_cast<Element<float>*>(data);
  }
  Element<uint16_t>* bf16() const {
    assert(dtype == DType::kBF16);
    return reinterpret_cast<Element<uint16_t>*>(data);
  }
  Element<int32_t>* i32() const {
    assert(dtype == DType::kI32);
    return reinterpret_cast<Element<int32_t>*>(data);
  }

  // The first `count` rows, or rows [begin, begin + count).
  TensorView first(int64_t count) const { return slice(0, count); }
  TensorView slice(int64_t begin, int64_t count) const {
    assert(rank > 0 && begin >= 0 && begin + count <= shape[0]);
    TensorView part = *this;
    part.data += static_cast<size_t>(begin * columns()) * size_of(dtype);
    part.shape[0] = count;
    return part;
  }
};

// Operations take ConstTensor for what they only read and Tensor for what they write.
using Tensor = TensorView<std::byte>;
using ConstTensor = TensorView<const std::byte>;

// The bytes of all of them together. Null views have none.
inline double bytes_of(std::initializer_list<ConstTensor> tensors) {
  double sum = 0;
  for (const ConstTensor& tensor : tensors) {
    if (tensor) sum += static_cast<double>(tensor.size_bytes());
  }
  return sum;
}

// Copies all elements of a tensor from or to ordinary memory of the same element type.
void copy_in(Tensor to, const void* from);
void copy_out(ConstTensor from, void* to);

// Hands out tensors from one block of memory in the order of the calls, each aligned to 64 bytes.
// To find the size of the block, make the same calls on a planning arena first: it has no memory
// and only counts. Borrows the memory. Not thread-safe.
class Arena {
 public:
  Arena() = default;  // planning: the tensors have shapes but no data
  explicit Arena(const Memory& memory) : base_(memory.data()), capacity_(memory.size_bytes()) {}

  Tensor make(DType dtype, std::initializer_list<int64_t> shape);
  // Where the next tensor begins. After going back to an earlier position, new tensors take the
  // memory of the tensors that were made since.
  size_t position() const { return used_; }
  void go_back(size_t position) { used_ = position; }
  // Skips to `position`, rounded up to 64 bytes, unless the next tensor begins there or later.
  void go_on_to(size_t position);
  size_t used_bytes() const { return most_used_; }  // the largest extent so far

 private:
  std::byte* base_ = nullptr;
  size_t capacity_ = 0, used_ = 0, most_used_ = 0;
};

}  // namespace berth
