#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "tests/support/throws_code.h"
#include "trainer/cpu/kernels/tensor.h"

namespace berth {
namespace {

constexpr size_t kBlockBytes = size_t{16} << 20, kPartBytes = size_t{6} << 20;

size_t page_bytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

// The bytes of these whole pages that take physical memory.
size_t resident_bytes(std::byte* data, size_t size_bytes) {
  std::vector<unsigned char> pages(size_bytes / page_bytes());
  EXPECT_EQ(::mincore(data, size_bytes, pages.data()), 0);
  return static_cast<size_t>(std::count_if(pages.begin(), pages.end(),
                                           [](unsigned char page) { return (page & 1) != 0; })) *
         page_bytes();
}

TEST(MemoryTest, IsZero) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, kBlockBytes + 3}) {
    const Memory memory(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
    EXPECT_EQ(memory.size_bytes(), size);
    EXPECT_TRUE(std::all_of(memory.data(), memory.data() + size,
                            [](std::byte each) { return each == std::byte{0}; }));
  }
}

TEST(MemoryTest, RefusesMoreThanThereIs) {
  EXPECT_THAT([] { Memory(SIZE_MAX); }, ThrowsCode(Code::kMemory));
  EXPECT_THAT([] { Memory(size_t{1} << 60); }, ThrowsCode(Code::kMemory));
}

TEST(MemoryTest, MovesWithItsOwner) {
  Memory first(1000), second(kBlockBytes);
  std::byte* const data = second.data();
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
  EXPECT_EQ(first.size_bytes(), kBlockBytes);
  const Memory third(std::move(first));
  EXPECT_EQ(third.data(), data);
  EXPECT_FALSE(first);
}

TEST(MemoryTest, SparsePagesTakeMemoryWhenWritten) {
  const Memory memory(kBlockBytes);
  std::byte* const part = memory.data() + 4 * page_bytes();
  expect_sparse(part - 8, kPartBytes + 16);  // applies to whole pages only
  part[0] = part[kPartBytes / 2] = std::byte{1};
  EXPECT_EQ(part[kPartBytes / 2 + 1], std::byte{0});
  EXPECT_LE(resident_bytes(part, kPartBytes), 3 * page_bytes());
}

TEST(MemoryTest, SparsityDoesNotChangeASmallBlock) {
  const Memory memory(1000);
  expect_sparse(memory.data(), 1000);
  memory.data()[999] = std::byte{1};
  EXPECT_EQ(memory.data()[0], std::byte{0});
}

}  // namespace
}  // namespace berth
