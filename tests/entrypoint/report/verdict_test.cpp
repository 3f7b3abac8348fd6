#include "entrypoint/report/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "entrypoint/report/log_output.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The warnings at the end of 100 updates, the loss of which is `loss(step)`.
std::vector<std::string> warnings(const std::function<double(int64_t)>& loss,
                                  const EvaluationReport& evaluation, int64_t first_step = 0) {
  std::vector<std::string> seen;
  const ScopedLogSink sink([&](LogLevel level, const std::string& text) {
    if (level == LogLevel::kWarning) seen.push_back(text);
  });
  Verdict verdict;
  verdict.on_start({.first_step = first_step, .total_steps = 100, .peak_learning_rate = 2e-2});
  for (int64_t step = first_step + 1; step <= 100; ++step) {
    verdict.on_step({.step = step, .loss = loss(step)});
  }
  verdict.on_evaluation(evaluation);
  verdict.on_finish();
  return seen;
}

EvaluationReport accuracy(double value) {
  return {.metrics = {{"accuracy", value}}, .majority_rate = 0.25};
}

double falling(int64_t step) { return 2.0 / static_cast<double>(step); }
double growing(int64_t step) { return 0.02 * static_cast<double>(step); }

TEST(Verdict, ALossThatGrewNamesASmallerRate) {
  EXPECT_THAT(warnings(growing, accuracy(0.9)),
              ElementsAre(HasSubstr("the loss grew from 0.11 to 1.91: the learning rate 0.02 is "
                                    "probably too high; try --learning-rate 0.002")));
}

TEST(Verdict, AnAccuracyOfTheMajorityIsNamed) {
  EXPECT_THAT(warnings(falling, accuracy(0.25)),
              ElementsAre(HasSubstr("the accuracy 0.2500 is no better than always predicting the "
                                    "most frequent class (0.2500)")));
}

TEST(Verdict, IsSilentWhereTheModelLearnt) {
  EXPECT_THAT(warnings(falling, accuracy(0.9)), IsEmpty());
  EXPECT_THAT(warnings(falling, {.metrics = {{"f1_micro", 0.1}}}), IsEmpty());
}

TEST(Verdict, FewUpdatesHaveNoTrend) {
  EXPECT_THAT(warnings(growing, accuracy(0.9), /*first_step=*/85), IsEmpty());
}

// Modes without training say nothing.
TEST(Verdict, AnEvaluationAloneIsNoTraining) {
  std::vector<std::string> seen;
  const ScopedLogSink sink([&](LogLevel, const std::string& text) { seen.push_back(text); });
  Verdict verdict;
  verdict.on_evaluation(accuracy(0.25));
  verdict.on_finish();
  EXPECT_THAT(seen, IsEmpty());
}

}  // namespace
}  // namespace berth
