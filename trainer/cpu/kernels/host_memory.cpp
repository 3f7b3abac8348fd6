#include "trainer/cpu/kernels/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

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

class HeapMemory final : public Memory {
 public:
  explicit HeapMemory(size_t size_bytes) : size_bytes_(size_bytes) {
    data_ = static_cast<std::byte*>(::operator new(size_bytes, kAlignment, std::nothrow));
    if (data_ == nullptr) fail(size_bytes);
    std::memset(data_, 0, size_bytes);
  }
  ~HeapMemory() override { ::operator delete(data_, kAlignment); }
  std::byte* data() const override { return data_; }
  size_t size_bytes() const override { return size_bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_bytes_;
};

class MappedMemory final : public Memory {
 public:
  explicit MappedMemory(size_t size_bytes) : size_bytes_(size_bytes) {
    // Over-mapped by one huge page, so that the block can begin on one.
    mapped_ =
        ::mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) fail(size_bytes);
    const auto address = reinterpret_cast<uintptr_t>(mapped_);
    data_ = static_cast<std::byte*>(mapped_) + (kHugePage - address % kHugePage) % kHugePage;
    ::madvise(data_, size_bytes, MADV_HUGEPAGE);  // advice: without it pages are just smaller
  }
  ~MappedMemory() override { ::munmap(mapped_, mapped_bytes()); }
  std::byte* data() const override { return data_; }
  size_t size_bytes() const override { return size_bytes_; }

 private:
  size_t mapped_bytes() const { return size_bytes_ + kHugePage; }

  void* mapped_ = nullptr;
  std::byte* data_ = nullptr;
  size_t size_bytes_;
};

}  // namespace

std::unique_ptr<Memory> allocate_host(size_t size_bytes) {
  if (size_bytes < kHugePage) return std::make_unique<HeapMemory>(size_bytes);
  if (size_bytes > SIZE_MAX - kHugePage) fail(size_bytes);
  return std::make_unique<MappedMemory>(size_bytes);
}

void expect_sparse_host(std::byte* data, size_t size_bytes) {
  if (size_bytes < kHugePage) return;  // may be the heap's, and saves little
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = (page - reinterpret_cast<uintptr_t>(data) % page) % page;
  ::madvise(data + before, (size_bytes - before) / page * page, MADV_NOHUGEPAGE);  // advice, too
}

}  // namespace berth
