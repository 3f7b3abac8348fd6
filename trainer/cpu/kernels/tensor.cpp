#include "trainer/cpu/kernels/tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr std::align_val_t kAlignment{64};

[[noreturn]] void fail(size_t size_bytes) {
  throw Error(Code::kMemory, cat("cannot allocate ", human_bytes(size_bytes)), "",
              "use a smaller batch, length or model");
}

// A mapping is longer than its block by one huge page, so that the block can begin on one.
size_t mapped_bytes(size_t size_bytes) { return size_bytes + kHugePage; }

}  // namespace

Memory::Memory(size_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes >= kHugePage) {
    map();
    return;
  }
  data_ = static_cast<std::byte*>(::operator new(size_bytes, kAlignment, std::nothrow));
  if (data_ == nullptr) fail(size_bytes);
  std::memset(data_, 0, size_bytes);
}

void Memory::map() {
  if (size_bytes_ > SIZE_MAX - kHugePage) fail(size_bytes_);
  void* const mapped = ::mmap(nullptr, mapped_bytes(size_bytes_), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) fail(size_bytes_);
  mapped_ = mapped;
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  data_ = static_cast<std::byte*>(mapped) + (kHugePage - address % kHugePage) % kHugePage;
  // This is only advice. If the system does not follow it, the pages are smaller.
  ::madvise(data_, size_bytes_, MADV_HUGEPAGE);
}

Memory::~Memory() {
  if (mapped_ != nullptr) {
    ::munmap(mapped_, mapped_bytes(size_bytes_));
  } else if (data_ != nullptr) {
    ::operator delete(data_, kAlignment);
  }
}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

void expect_sparse(std::byte* data, size_t size_bytes) {
  // A small block shares its pages with others on the heap, and little would be saved.
  if (size_bytes < kHugePage) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = (page - reinterpret_cast<uintptr_t>(data) % page) % page;
  ::madvise(data + before, (size_bytes - before) / page * page, MADV_NOHUGEPAGE);
}

namespace {

size_t aligned(size_t position) {
  constexpr size_t kLine = 64;
  return (position + kLine - 1) / kLine * kLine;
}

}  // namespace

void copy_in(Tensor to, const void* from) {
  if (to.size_bytes() != 0) std::memcpy(to.data, from, to.size_bytes());
}

void copy_out(ConstTensor from, void* to) {
  if (from.size_bytes() != 0) std::memcpy(to, from.data, from.size_bytes());
}

Tensor Arena::make(DType dtype, std::initializer_list<int64_t> shape) {
  Tensor tensor{.dtype = dtype, .rank = static_cast<int>(shape.size())};
  std::copy(shape.begin(), shape.end(), tensor.shape.begin());
  const size_t size = tensor.size_bytes();
  if (base_ != nullptr) {
    assert(used_ + size <= capacity_);
    tensor.data = base_ + used_;
  }
  go_on_to(used_ + size);
  return tensor;
}

void Arena::go_on_to(size_t position) {
  used_ = std::max(used_, aligned(position));
  most_used_ = std::max(most_used_, used_);
}

}  // namespace berth
