#include "storage/base/process_usage.h"

#include <gtest/gtest.h>

#include <ctime>

#include "tests/support/fake_root.h"

namespace berth {
namespace {

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
