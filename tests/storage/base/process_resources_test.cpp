#include "storage/base/process_resources.h"

#include <gtest/gtest.h>

#include <ctime>
#include <vector>

#include "tests/support/fake_root.h"

namespace berth {
namespace {

class CgroupCpuLimit : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) { root_.write(file, text); }
  std::optional<double> limit() { return cgroup_cpu_limit(root_.path()); }

  FakeRoot root_;
};

TEST_F(CgroupCpuLimit, IsAbsentWithoutCgroups) { EXPECT_EQ(limit(), std::nullopt); }

TEST_F(CgroupCpuLimit, OfVersion2IsQuotaByPeriod) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(limit(), 1.5);
}

TEST_F(CgroupCpuLimit, OfVersion2MaxIsAbsent) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(CgroupCpuLimit, IsTheSmallestAlongANestedPath) {
  write("proc/self/cgroup", "0::/kubepods/pod1/container\n");
  write("sys/fs/cgroup/kubepods/cpu.max", "800000 100000\n");
  write("sys/fs/cgroup/kubepods/pod1/cpu.max", "200000 100000\n");
  write("sys/fs/cgroup/kubepods/pod1/container/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), 2.0);
}

TEST_F(CgroupCpuLimit, IsReadAtTheMountIfThePathIsThatOfTheHost) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/docker/1234\n3:cpuset:/docker/1234\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 3.0);
}

TEST_F(CgroupCpuLimit, OfVersion1MinusOneIsAbsent) {
  write("proc/self/cgroup", "4:cpu:/\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(CgroupCpuLimit, OfBothVersionsIsTheSmaller) {
  write("proc/self/cgroup", "4:cpuacct,cpu:/job\n0::/job\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/unified/job/cpu.max", "400000 100000\n");
  EXPECT_EQ(limit(), 0.5);
}

TEST_F(CgroupCpuLimit, StaysBelowTheMountWhateverThePathSays) {
  write("proc/self/cgroup", "0::/../../outside\n");
  write("sys/fs/outside/cpu.max", "100000 100000\n");
  write("outside/cpu.max", "100000 100000\n");
  EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(CgroupCpuLimit, IsAbsentForNonsense) {
  for (const char* text : {"", " ", "x y", "100000", "100000 0", "-5 100000", "nan 1", "1e999 1"}) {
    write("proc/self/cgroup", "0::/\nrubbish\n:\n");
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(limit(), std::nullopt) << text;
  }
}

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

TEST(ProcessUsage, CountsThisProcess) {
  const double before_s = process_usage().cpu_s;
  const std::clock_t began = std::clock();
  while (std::clock() == began) {
  }
  const ProcessUsage usage = process_usage();
  EXPECT_GT(usage.cpu_s, before_s);
  EXPECT_GT(usage.resident_bytes, 100'000U);
  EXPECT_GE(usage.peak_resident_bytes, usage.resident_bytes / 2);
}

TEST(ProcessUsage, ReadsTheThrottledTimeOfVersion2) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/pod/container\n");
  root.write("sys/fs/cgroup/cpu.stat", "usage_usec 9000000\n");
  root.write("sys/fs/cgroup/pod/cpu.stat", "nr_throttled 3\nthrottled_usec 2500000\n");
  root.write("sys/fs/cgroup/pod/container/cpu.stat", "nr_throttled 0\nthrottled_usec 500\n");
  EXPECT_EQ(process_usage(root.path()).throttled_s, 2.5);
}

TEST(ProcessUsage, ReadsTheThrottledTimeOfVersion1) {
  FakeRoot root;
  root.write("proc/self/cgroup", "4:cpu,cpuacct:/docker/1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.stat",
             "nr_periods 10\nnr_throttled 2\nthrottled_time 1500000000\n");
  EXPECT_EQ(process_usage(root.path()).throttled_s, 1.5);
}

TEST(ProcessUsage, KnowsNoThrottledTimeWithoutGroups) {
  EXPECT_FALSE(process_usage(FakeRoot().path()).throttled_s);
}

}  // namespace
}  // namespace berth
