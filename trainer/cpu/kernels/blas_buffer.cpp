#include "trainer/cpu/kernels/blas_buffer.h"

#include <sys/mman.h>

#include <cassert>

#include "storage/base/error.h"

namespace berth {
namespace {

// The BUFFER_SIZE of OpenBLAS. Pages that are never written take no memory.
constexpr size_t kBufferBytes = size_t{32} << 22;

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (memory_ != nullptr) ::munmap(memory_, kBufferBytes);
  }

  void prepare() {
    if (memory_ != nullptr) return;
    void* memory = ::mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw Error(Code::kMemory, "no address space for a matrix product's buffer", "",
                  "raise the limit on virtual memory or lower --threads");
    }
    memory_ = memory;
  }

  void* take() {
    assert(memory_ != nullptr && !taken_);
    taken_ = true;
    return memory_;
  }
  void give_back() { taken_ = false; }

 private:
  void* memory_ = nullptr;
  bool taken_ = false;
};

thread_local Buffer buffer;

}  // namespace

void prepare_blas_buffer() { buffer.prepare(); }

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's --wrap asks for these names.
extern "C" void* __wrap_blas_memory_alloc(int) { return buffer.take(); }
extern "C" void __wrap_blas_memory_free(void*) { buffer.give_back(); }
// NOLINTEND(bugprone-reserved-identifier)

}  // namespace berth
