#include "storage/base/memory_limit.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/fake_root.h"

namespace berth {
namespace {

class MemoryLimitTest : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) { root_.write(file, text); }
  void write_machine() {
    write("proc/meminfo", "MemFree:  7 kB\nMemTotal:       1000 kB\nSwapTotal: 9 kB\n");
  }
  uint64_t limit() { return memory_limit(root_.path()).value_or(MemoryLimit{}).size_bytes; }

  FakeRoot root_;
};

TEST_F(MemoryLimitTest, IsAbsentWithoutAnySource) {
  EXPECT_EQ(memory_limit(root_.path()), std::nullopt);
  write("proc/self/cgroup", "0::/job\n4:memory:/job\n");
  write("sys/fs/cgroup/job/memory.max", "max\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_limit(root_.path()), std::nullopt);
}

TEST_F(MemoryLimitTest, IsThatOfTheMachineWithoutCgroups) {
  write_machine();
  EXPECT_EQ(limit(), 1024000u);
  EXPECT_EQ(memory_limit(root_.path())->what, "this machine's memory");
}

TEST_F(MemoryLimitTest, OfVersion2IsTheSmallestAlongThePath) {
  write_machine();
  write("proc/self/cgroup", "0::/pod/container\n");
  write("sys/fs/cgroup/pod/memory.max", "300000\n");
  write("sys/fs/cgroup/pod/container/memory.max", "max\n");
  EXPECT_EQ(limit(), 300000u);
  EXPECT_EQ(memory_limit(root_.path())->what, "the container's limit");
  write("sys/fs/cgroup/pod/container/memory.max", "200000\n");
  EXPECT_EQ(limit(), 200000u);
}

TEST_F(MemoryLimitTest, OfVersion1IsReadAtItsMount) {
  write_machine();
  write("proc/self/cgroup", "4:cpu:/docker/1\n3:memory:/docker/1\n");
  write("sys/fs/cgroup/cpu/memory.limit_in_bytes", "5\n");  // not the controller of memory
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "400000\n");
  EXPECT_EQ(limit(), 400000u);
}

TEST_F(MemoryLimitTest, AboveTheMachinesMemoryIsTheMachinesMemory) {
  write_machine();
  write("proc/self/cgroup", "3:memory:/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit(), 1024000u);
}

TEST_F(MemoryLimitTest, NonsenseIsNoLimit) {
  write_machine();
  write("proc/self/cgroup", "0::/\n");
  for (const char* text : {"", " ", "max", "-1", "12x", "99999999999999999999999"}) {
    write("sys/fs/cgroup/memory.max", text);
    EXPECT_EQ(limit(), 1024000u) << text;
  }
  write("proc/meminfo", "MemTotal: many kB\nMemTotal\n");
  EXPECT_EQ(memory_limit(root_.path()), std::nullopt);
}

TEST(ResidentBytes, GrowWithTheMemoryInUse) {
  const uint64_t before = resident_bytes();
  const std::vector<char> held(size_t{64} << 20, 'x');
  EXPECT_GT(resident_bytes(), before + (held.size() >> 1));
}

}  // namespace
}  // namespace berth
