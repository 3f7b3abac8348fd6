#include "trainer/inputs/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

Schedule linear(double peak, int64_t warmup, int64_t total) {
  return Schedule({.peak_rate = peak, .warmup_steps = warmup, .total_steps = total});
}

std::vector<double> rates(const Schedule& schedule, int64_t count) {
  std::vector<double> result;
  for (int64_t step = 0; step < count; ++step) result.push_back(schedule.rate(step));
  return result;
}

// The rates that transformers' own tests expect of get_linear_schedule_with_warmup.
TEST(LinearSchedule, AgreesWithTransformers) {
  EXPECT_THAT(
      rates(linear(10, 2, 10), 10),
      Pointwise(DoubleNear(1e-12), {0.0, 5.0, 10.0, 8.75, 7.5, 6.25, 5.0, 3.75, 2.5, 1.25}));
}

// The rates that tests/optimization/test_optimization.py of transformers expects, to its two
// digits.
TEST(Schedule, OtherSchedulesAgreeWithTransformers) {
  ScheduleOptions options{.peak_rate = 10, .warmup_steps = 2, .total_steps = 10};
  options.type = ScheduleType::kCosine;
  EXPECT_THAT(
      rates(Schedule(options), 10),
      Pointwise(DoubleNear(1e-2), {0.0, 5.0, 10.0, 9.61, 8.53, 6.91, 5.0, 3.08, 1.46, 0.38}));
  options.type = ScheduleType::kPolynomial;
  options.power = 2;
  EXPECT_THAT(
      rates(Schedule(options), 10),
      Pointwise(DoubleNear(1e-3), {0.0, 5.0, 10.0, 7.656, 5.625, 3.906, 2.5, 1.406, 0.625, 0.156}));
  options.type = ScheduleType::kConstant;
  EXPECT_THAT(rates(Schedule(options), 3), Pointwise(DoubleNear(1e-12), {10, 10, 10}));
  options.type = ScheduleType::kConstantWithWarmup;
  options.warmup_steps = 4;
  EXPECT_THAT(rates(Schedule(options), 6),
              Pointwise(DoubleNear(1e-12), {0.0, 2.5, 5.0, 7.5, 10.0, 10.0}));
}

TEST(Schedule, MayEndAboveZero) {
  ScheduleOptions options{.peak_rate = 10, .warmup_steps = 0, .total_steps = 4, .end_rate = 2};
  EXPECT_THAT(rates(Schedule(options), 5), Pointwise(DoubleNear(1e-12), {10, 8, 6, 4, 2}));
  options.type = ScheduleType::kCosine;
  EXPECT_THAT(rates(Schedule(options), 5),
              Pointwise(DoubleNear(1e-2), {10.0, 8.83, 6.0, 3.17, 2.0}));
  options.type = ScheduleType::kPolynomial;
  EXPECT_THAT(rates(Schedule(options), 5), Pointwise(DoubleNear(1e-12), {10, 8, 6, 4, 2}));
  options.end_rate = 20;  // never above the peak
  EXPECT_THAT(rates(Schedule(options), 5), Pointwise(DoubleNear(1e-12), {10, 10, 10, 10, 10}));
}

TEST(Schedule, APolynomialEndsAboveZeroAsTransformersDoes) {
  ScheduleOptions options{.type = ScheduleType::kPolynomial, .peak_rate = 1, .total_steps = 4};
  EXPECT_EQ(Schedule(options).rate(4), 1e-7);
  EXPECT_EQ(Schedule(options).rate(9), 1e-7);
  options.peak_rate = 1e-9;
  EXPECT_EQ(Schedule(options).rate(2), 1e-9);
}

TEST(LinearSchedule, WithoutWarmUpBeginsAtThePeak) {
  EXPECT_THAT(rates(linear(4, 0, 4), 5), Pointwise(DoubleNear(1e-12), {4, 3, 2, 1, 0}));
}

TEST(LinearSchedule, MayWarmUpToTheEnd) {
  EXPECT_THAT(rates(linear(4, 4, 4), 6), Pointwise(DoubleNear(1e-12), {0, 1, 2, 3, 0, 0}));
}

TEST(LinearSchedule, StaysAtZeroPastTheEnd) {
  EXPECT_EQ(linear(1, 2, 10).rate(10), 0);
  EXPECT_EQ(linear(1, 2, 10).rate(1000), 0);
}

// The trainer of transformers computes math.ceil(total * ratio) in floating point.
TEST(DefaultLearningRate, IsLargerForNarrowEncoders) {
  EXPECT_DOUBLE_EQ(default_learning_rate(1024), 5e-5);
  EXPECT_DOUBLE_EQ(default_learning_rate(768), 5e-5);
  EXPECT_DOUBLE_EQ(default_learning_rate(384), 1.4e-4);
  EXPECT_DOUBLE_EQ(default_learning_rate(128), 7.3e-4);
  EXPECT_DOUBLE_EQ(default_learning_rate(16), 1e-3);
}

TEST(DefaultPretrainingRate, IsThatOfElectraAndNeverBelowThatOfFineTuning) {
  EXPECT_DOUBLE_EQ(default_pretraining_rate(768), 2e-4);
  EXPECT_DOUBLE_EQ(default_pretraining_rate(256), 5e-4);
  EXPECT_DOUBLE_EQ(default_pretraining_rate(1024), 1.6e-4);
  EXPECT_DOUBLE_EQ(default_pretraining_rate(128), 8.9e-4);
  for (int64_t width = 16; width <= 2048; width += 16) {
    EXPECT_GE(default_pretraining_rate(width), default_learning_rate(width)) << width;
    EXPECT_LE(default_pretraining_rate(width), 1e-3) << width;
  }
}

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
