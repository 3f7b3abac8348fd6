#include "trainer/cpu/kernels/memory_rate.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

// How fast a level is depends on the machine and on its load. The sizes do not.
TEST(MemoryLevels, GrowAndMoveBytes) {
  ThreadPool pool(2);
  const std::vector<MemoryLevel> levels = measure_memory_levels(pool);
  if (levels.empty()) GTEST_SKIP() << "the system does not tell the sizes of its caches";
  EXPECT_EQ(levels.front().name, "L1");
  for (size_t i = 0; i < levels.size(); ++i) {
    EXPECT_GT(levels[i].read_bytes_per_s, 1e6) << levels[i].name;
    EXPECT_GT(levels[i].written_bytes_per_s, 1e6) << levels[i].name;
    if (i > 0) {
      EXPECT_GT(levels[i].size_bytes, levels[i - 1].size_bytes) << levels[i].name;
    }
  }
}

}  // namespace
}  // namespace berth
