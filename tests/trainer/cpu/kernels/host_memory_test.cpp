#include "trainer/cpu/kernels/host_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace berth {
namespace {

constexpr size_t kBlockBytes = size_t{16} << 20, kPartBytes = size_t{6} << 20;

size_t page_bytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

// Of whole pages: those that take memory.
size_t resident_bytes(std::byte* data, size_t size_bytes) {
  std::vector<unsigned char> pages(size_bytes / page_bytes());
  EXPECT_EQ(::mincore(data, size_bytes, pages.data()), 0);
  return static_cast<size_t>(std::count_if(pages.begin(), pages.end(),
                                           [](unsigned char page) { return (page & 1) != 0; })) *
         page_bytes();
}

TEST(HostMemory, IsZero) {
  for (const size_t size : {size_t{1}, size_t{1000}, kBlockBytes}) {
    const auto memory = allocate_host(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % 64, 0u);
    EXPECT_EQ(memory->size_bytes(), size);
    EXPECT_TRUE(std::all_of(memory->data(), memory->data() + size,
                            [](std::byte each) { return each == std::byte{0}; }));
  }
}

TEST(HostMemory, OfASparsePartTakesWhatIsWritten) {
  const auto memory = allocate_host(kBlockBytes);
  std::byte* const part = memory->data() + 4 * page_bytes();
  expect_sparse_host(part - 8, kPartBytes + 16);  // whole pages of it alone
  part[0] = part[kPartBytes / 2] = std::byte{1};
  EXPECT_EQ(part[kPartBytes / 2 + 1], std::byte{0});
  EXPECT_LE(resident_bytes(part, kPartBytes), 3 * page_bytes());
}

TEST(HostMemory, OfASmallPartStaysAsItIs) {
  const auto memory = allocate_host(1000);
  expect_sparse_host(memory->data(), 1000);
  memory->data()[999] = std::byte{1};
  EXPECT_EQ(memory->data()[0], std::byte{0});
}

}  // namespace
}  // namespace berth
