#include "trainer/cpu/kernels/peak_rate.h"

#include <gtest/gtest.h>

#include "trainer/cpu/kernels/bf16/bf16_loops.h"

namespace berth {
namespace {

TEST(PeakRate, IsMeasuredWhereThereAreInstructionsForIt) {
  ThreadPool pool(2);
  EXPECT_GT(peak_rate(pool, false), 1e8);
  EXPECT_EQ(peak_rate(pool, true) > 0, !native_bf16_loops().empty());
}

}  // namespace
}  // namespace berth
