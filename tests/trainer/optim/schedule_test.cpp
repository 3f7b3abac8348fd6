#include "trainer/optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

std::vector<double> rates(const LinearSchedule& schedule, int64_t count) {
  std::vector<double> result;
  for (int64_t step = 0; step < count; ++step) result.push_back(schedule.rate(step));
  return result;
}

// The numbers that transformers' own tests expect of get_linear_schedule_with_warmup.
TEST(LinearSchedule, IsTransformers) {
  EXPECT_THAT(
      rates(LinearSchedule(10, 2, 10), 10),
      Pointwise(DoubleNear(1e-12), {0.0, 5.0, 10.0, 8.75, 7.5, 6.25, 5.0, 3.75, 2.5, 1.25}));
}

TEST(LinearSchedule, WithoutWarmUpBeginsAtThePeak) {
  EXPECT_THAT(rates(LinearSchedule(4, 0, 4), 5), Pointwise(DoubleNear(1e-12), {4, 3, 2, 1, 0}));
}

TEST(LinearSchedule, MayWarmUpToTheEnd) {
  EXPECT_THAT(rates(LinearSchedule(4, 4, 4), 6), Pointwise(DoubleNear(1e-12), {0, 1, 2, 3, 0, 0}));
}

TEST(LinearSchedule, StaysAtZeroPastTheEnd) {
  EXPECT_EQ(LinearSchedule(1, 2, 10).rate(10), 0);
  EXPECT_EQ(LinearSchedule(1, 2, 10).rate(1000), 0);
}

// math.ceil(total * ratio), floating point and all.
TEST(WarmupSteps, RoundUpAsTheTrainerDoes) {
  EXPECT_EQ(warmup_steps(0.1, 30), 3);
  EXPECT_EQ(warmup_steps(0.1, 70), 7);
  EXPECT_EQ(warmup_steps(0.1, 11), 2);
  EXPECT_EQ(warmup_steps(0.1, 1), 1);
  EXPECT_EQ(warmup_steps(0.06, 100), 6);
  EXPECT_EQ(warmup_steps(0, 10), 0);
  EXPECT_EQ(warmup_steps(1, 10), 10);
}

}  // namespace
}  // namespace berth
