#include "storage/base/available_threads.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace berth
