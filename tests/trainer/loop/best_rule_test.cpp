#include "trainer/loop/best_rule.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

EvaluationResult evaluation(double loss, double accuracy) {
  return {.examples = 10, .loss = loss, .metrics = {{"accuracy", accuracy}, {"f1", accuracy / 2}}};
}

BestRule rule(const std::string& metric, int64_t patience = 0, int64_t num_labels = 2) {
  TrainingOptions options;
  options.metric_for_best_model = metric;
  options.early_stopping_patience = patience;
  return BestRule(options, num_labels, /*steps_between=*/50);
}

TEST(BestRule, MoreIsBetterAndTheFirstOfEqualsStays) {
  const BestRule best = rule("accuracy");
  const auto first = best.better(evaluation(1, 0.5), 50, std::nullopt);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->metric, "accuracy");
  EXPECT_EQ(first->value, 0.5);
  EXPECT_FALSE(best.better(evaluation(0.1, 0.5), 100, first));
  EXPECT_EQ(best.better(evaluation(2, 0.6), 150, first)->step, 150);
}

TEST(BestRule, OfLossLessIsBetter) {
  const BestRule best = rule("eval_loss");
  const auto first = best.better(evaluation(1, 0.5), 50, std::nullopt);
  EXPECT_EQ(first->metric, "loss");
  EXPECT_FALSE(best.better(evaluation(1, 0.9), 100, first));
  EXPECT_FALSE(best.better(evaluation(std::numeric_limits<double>::quiet_NaN(), 1), 100, first));
  EXPECT_EQ(best.better(evaluation(0.9, 0.1), 100, first)->value, 0.9);
}

TEST(BestRule, KnowsTheMetricsOfItsData) {
  EXPECT_NO_THROW(rule("f1"));
  EXPECT_NO_THROW(rule("eval_f1_macro", 0, 4));
  EXPECT_THAT([] { rule("f1", 0, 4); },
              ThrowsCode(Code::kUsage, "\"f1\" is no metric of 4 classes"));
  EXPECT_THAT([] { rule("acuracy"); },
              ThrowsCode(Code::kUsage, "accuracy, f1, matthews_correlation, precision, recall"));
}

TEST(BestRule, PatienceCountsEvaluationsSinceTheBest) {
  const Best best{.step = 100, .metric = "accuracy", .value = 0.5};
  const BestRule two = rule("accuracy", 2);
  EXPECT_FALSE(two.gives_up(100, best));
  EXPECT_FALSE(two.gives_up(150, best));
  EXPECT_TRUE(two.gives_up(200, best));
  EXPECT_FALSE(two.gives_up(5000, std::nullopt));
  EXPECT_FALSE(rule("accuracy").gives_up(5000, best));
}

}  // namespace
}  // namespace berth
