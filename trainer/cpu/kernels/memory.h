#pragma once

#include <cstddef>
#include <utility>

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

}  // namespace berth
