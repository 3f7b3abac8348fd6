#include "trainer/metrics/multi_label.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/trainer/metrics/recorded_cases.h"

namespace berth {
namespace {

TEST(MultiLabelMetrics, AgreeWithScikitLearn) {
  for (const Json& recorded : recorded_cases("multi_label")) {
    const auto logits = recorded["logits"].get<std::vector<std::vector<float>>>();
    const auto targets = recorded["targets"].get<std::vector<std::vector<float>>>();
    MultiLabelMetrics counted(static_cast<int64_t>(targets[0].size()));
    for (size_t i = 0; i < targets.size(); ++i) counted.add(logits[i], targets[i]);
    EXPECT_EQ(counted.examples(), static_cast<int64_t>(targets.size()));
    for (const auto& [key, value] : counted.metrics()) {
      if (!recorded.contains(key)) continue;  // averages of one label
      EXPECT_NEAR(value, recorded[key].get<double>(), 1e-12) << key;
    }
    EXPECT_EQ(counted.metrics().size(), 3u);
    for (size_t label = 0; label < targets[0].size(); ++label) {
      expect_counts(counted.of_label(static_cast<int64_t>(label)), recorded["of_label"], label);
    }
  }
}

TEST(MultiLabelMetrics, ALabelNeedsAProbabilityAboveOneHalf) {
  MultiLabelMetrics counted(2);
  counted.add(std::vector<float>{0, 1e-3f}, std::vector<float>{0.5f, 0.6f});
  EXPECT_EQ(counted.of_label(0).predicted, 0);
  EXPECT_EQ(counted.of_label(0).support, 0);
  EXPECT_EQ(counted.of_label(1).true_positives, 1);
  EXPECT_EQ(counted.metrics().at("accuracy"), 1);
}

TEST(MultiLabelMetrics, NoExamplesAreNoError) {
  for (const auto& [key, value] : MultiLabelMetrics(3).metrics()) EXPECT_EQ(value, 0) << key;
}

TEST(Sigmoid, SurvivesHugeLogits) {
  EXPECT_EQ(sigmoid(0), 0.5);
  EXPECT_EQ(sigmoid(1e4f), 1);
  EXPECT_EQ(sigmoid(-1e4f), 0);
  EXPECT_NEAR(sigmoid(2), 1 / (1 + std::exp(-2.0)), 1e-15);
}

}  // namespace
}  // namespace berth
