#include <gtest/gtest.h>

#include <limits>

#include "tests/support/throws_code.h"
#include "trainer/loop/saves.h"

namespace berth {
namespace {

EvaluationResult evaluation(double loss, double accuracy) {
  return {.examples = 10,
          .loss = loss,
          .scores = {.metrics = {{"accuracy", accuracy}, {"f1", accuracy / 2}, {"mse", accuracy}}}};
}

BestRule rule(const std::string& metric, int64_t patience = 0,
              const std::vector<std::string>& metrics = {"accuracy", "f1"}) {
  TrainingOptions options;
  options.metric_for_best_model = metric;
  options.early_stopping_patience = patience;
  return BestRule(options, metrics);
}

TEST(BestRule, AHigherScoreIsBetterAndTheFirstOfEqualsStays) {
  const BestRule best = rule("accuracy");
  const auto first = best.better(evaluation(1, 0.5), 50, std::nullopt);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->metric, "accuracy");
  EXPECT_EQ(first->value, 0.5);
  EXPECT_FALSE(best.better(evaluation(0.1, 0.5), 100, first));
  EXPECT_EQ(best.better(evaluation(2, 0.6), 150, first)->step, 150);
}

TEST(BestRule, ALowerLossIsBetter) {
  const BestRule best = rule("eval_loss");
  const auto first = best.better(evaluation(1, 0.5), 50, std::nullopt);
  EXPECT_EQ(first->metric, "loss");
  EXPECT_FALSE(best.better(evaluation(1, 0.9), 100, first));
  EXPECT_FALSE(best.better(evaluation(std::numeric_limits<double>::quiet_NaN(), 1), 100, first));
  EXPECT_EQ(best.better(evaluation(0.9, 0.1), 100, first)->value, 0.9);
}

TEST(BestRule, ANonFiniteValueIsNeverTheBest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(rule("loss").better(evaluation(nan, 1), 50, std::nullopt));
  EXPECT_FALSE(rule("accuracy").better(evaluation(1, nan), 50, std::nullopt));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(rule("loss").better(evaluation(infinity, 1), 50, std::nullopt));
}

TEST(BestRule, KnowsTheMetricsOfItsData) {
  EXPECT_NO_THROW(rule("f1"));
  EXPECT_NO_THROW(rule("eval_f1_macro", 0, {"accuracy", "f1_macro"}));
  EXPECT_THAT(
      [] {
        rule("f1", 0, {"accuracy", "f1_macro"});
      },
      ThrowsCode(Code::kUsage, "\"f1\" is not a metric of this task"));
  EXPECT_THAT([] { rule("acuracy"); }, ThrowsCode(Code::kUsage, "loss, accuracy, f1"));
}

TEST(BestRule, PatienceCountsEvaluationsSinceTheBest) {
  const BestRule two = rule("accuracy", 2);
  EXPECT_FALSE(two.gives_up(0));
  EXPECT_FALSE(two.gives_up(1));
  EXPECT_TRUE(two.gives_up(2));
  EXPECT_FALSE(rule("accuracy").gives_up(5000));
}

TEST(BestRule, AGainWithinTheThresholdIsTheBestButDoesNotRenewThePatience) {
  TrainingOptions options;
  options.metric_for_best_model = "loss";
  options.early_stopping_threshold = 0.25;
  const BestRule best(options, {"accuracy"});
  const auto first = best.better(evaluation(2, 0.5), 50, std::nullopt);
  EXPECT_EQ(first->improved_step, 50);
  const auto second = best.better(evaluation(1.75, 0.5), 100, first);
  EXPECT_EQ(second->step, 100);
  EXPECT_EQ(second->improved_step, 50);
  EXPECT_EQ(best.better(evaluation(1.25, 0.5), 150, second)->improved_step, 150);
  EXPECT_FALSE(best.better(evaluation(1.75, 0.9), 150, second));
}

TEST(BestRule, TheTasksMainMetricIsTheDefault) {
  const auto best = rule("", 0, {"f1", "accuracy"}).better(evaluation(1, 0.5), 50, std::nullopt);
  EXPECT_EQ(best->metric, "f1");
}

TEST(BestRule, ALowerErrorIsBetter) {
  const BestRule best = rule("mse", 0, {"pearson", "mse"});
  const auto first = best.better(evaluation(1, 0.5), 50, std::nullopt);
  EXPECT_TRUE(best.better(evaluation(1, 0.4), 100, first));
  EXPECT_FALSE(best.better(evaluation(1, 0.6), 100, first));
}

}  // namespace
}  // namespace berth
