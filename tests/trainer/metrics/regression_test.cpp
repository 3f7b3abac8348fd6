#include "trainer/metrics/regression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/trainer/metrics/recorded_cases.h"

namespace berth {
namespace {

using testing::Each;
using testing::IsNan;
using testing::Pair;

RegressionMetrics of(const std::vector<double>& predictions, const std::vector<double>& truths) {
  RegressionMetrics metrics;
  for (size_t i = 0; i < truths.size(); ++i) metrics.add(predictions[i], truths[i]);
  return metrics;
}

TEST(RegressionMetrics, AgreeWithScipy) {
  for (const Json& recorded : recorded_cases("regression")) {
    auto metrics = of(recorded["predictions"].get<std::vector<double>>(),
                      recorded["truths"].get<std::vector<double>>())
                       .metrics();
    EXPECT_EQ(metrics.size(), 3u);
    for (const char* key : {"mse", "pearson", "spearman"}) {
      const auto expected = recorded[key].get<double>();
      EXPECT_NEAR(metrics[key], expected, 1e-12 * std::max(1.0, std::abs(expected))) << key;
    }
  }
}

TEST(RegressionMetrics, AlwaysTheSameAnswerCorrelatesWithNothing) {
  for (const RegressionMetrics& metrics :
       {of({0.1, 0.1, 0.1}, {1, 2, 3}), of({1, 2, 3}, {0.1, 0.1, 0.1}), of({7}, {7})}) {
    EXPECT_EQ(metrics.pearson(), 0);
    EXPECT_EQ(metrics.spearman(), 0);
  }
  EXPECT_EQ(of({7}, {5}).mse(), 4);
}

TEST(RegressionMetrics, NoExamplesAreNoError) {
  EXPECT_THAT(RegressionMetrics().metrics(), Each(Pair(testing::_, 0)));
}

TEST(RegressionMetrics, ShowADivergedModel) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(of({1, nan, 3}, {1, 2, 3}).metrics(), Each(Pair(testing::_, IsNan())));
}

}  // namespace
}  // namespace berth
