#include "trainer/metrics/label_thresholds.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/trainer/metrics/recorded_cases.h"
#include "trainer/metrics/metrics.h"

namespace berth {
namespace {

using Rows = std::vector<std::vector<float>>;

std::vector<LabelledLogit> of_label(const Json& recorded, size_t label) {
  std::vector<LabelledLogit> logits;
  for (size_t row = 0; row < recorded["logits"].size(); ++row) {
    logits.push_back({recorded["logits"][row][label].get<float>(),
                      recorded["truths"][row][label].get<int>() == 1});
  }
  return logits;
}

double f1_at(const std::vector<LabelledLogit>& logits, double threshold) {
  ClassCounts counts;
  for (const LabelledLogit& each : logits) {
    const bool predicted = is_predicted(each.logit, threshold);
    counts += {.true_positives = predicted && each.is_true,
               .predicted = predicted,
               .support = each.is_true};
  }
  return counts.f1();
}

// tests/record/record_label_thresholds.py recorded the values of scikit-learn.
TEST(LabelThresholds, GiveTheLargestF1) {
  for (const Json& recorded : recorded_cases("label_thresholds")) {
    std::vector<LabelledLogit> all;
    for (size_t label = 0; label < recorded["given"].size(); ++label) {
      const std::vector<LabelledLogit> logits = of_label(recorded, label);
      all.insert(all.end(), logits.begin(), logits.end());
      EXPECT_NEAR(f1_at(logits, best_threshold(logits)),
                  recorded["best_of_each"][label].get<double>(), 1e-12);
    }
    EXPECT_NEAR(f1_at(all, best_threshold(all)), recorded["best_of_all"].get<double>(), 1e-12);
  }
}

TEST(LabelThresholds, GivenOnesDecideTheMetrics) {
  for (const Json& recorded : recorded_cases("label_thresholds")) {
    const auto logits = recorded["logits"].get<Rows>(), truths = recorded["truths"].get<Rows>();
    const LabelThresholds thresholds{.given = recorded["given"].get<std::vector<double>>()};
    MultiLabelMetrics metrics(static_cast<int64_t>(thresholds.given.size()));
    for (size_t i = 0; i < logits.size(); ++i) metrics.add(logits[i], truths[i], thresholds);
    for (const auto& [name, value] : metrics.metrics()) {
      EXPECT_NEAR(value, recorded[name].get<double>(), 1e-12) << name;
    }
  }
}

TEST(LabelThresholds, LieInTheMiddle) {
  const double low = sigmoid(-3.0f), high = sigmoid(-1.0f);
  EXPECT_EQ(best_threshold({{-1, true}, {-3, false}}), low + (high - low) / 2);
}

TEST(LabelThresholds, StayAtOneHalfWhereThatIsAsGood) {
  EXPECT_EQ(best_threshold({{2, true}, {-2, false}}), 0.5);
  EXPECT_EQ(best_threshold({}), 0.5);
  EXPECT_EQ(best_threshold({{2, false}, {-2, false}}), 0.5);  // no row has the label
}

TEST(LabelThresholds, OfEquallyGoodOnesTheNearestToOneHalfIsTaken) {
  // F1 is 2/3 where the first logit is above the threshold alone, and where the first four are.
  const std::vector<LabelledLogit> logits = {
      {4, true}, {3, false}, {2, false}, {1.5f, true}, {1, false}};
  const double low = sigmoid(1.0f), high = sigmoid(1.5f);
  EXPECT_EQ(best_threshold(logits), low + (high - low) / 2);
}

TEST(LabelThresholds, DoNotSplitEqualLogits) {
  const std::vector<LabelledLogit> logits = {{1, true}, {1, false}, {1, true}, {-1, false}};
  EXPECT_NEAR(f1_at(logits, best_threshold(logits)), 0.8, 1e-12);
}

TEST(LabelThresholds, SurviveOddLogits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(best_threshold({{nan, true}, {nan, false}}), 0.5);
  const std::vector<LabelledLogit> logits = {{1e4f, false}, {-900, true}, {-1e4f, true}};
  const double threshold = best_threshold(logits);
  EXPECT_GE(threshold, 0);
  EXPECT_LT(threshold, 1);
}

}  // namespace
}  // namespace berth
