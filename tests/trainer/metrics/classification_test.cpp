#include "trainer/metrics/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/trainer/metrics/recorded_cases.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::Key;

// The confusion matrix of these (true, predicted) pairs.
ConfusionMatrix confusion(int64_t classes, const std::vector<std::pair<int, int>>& pairs) {
  ConfusionMatrix matrix(classes);
  for (const auto& [truth, prediction] : pairs) {
    std::vector<float> logits(static_cast<size_t>(classes));
    logits[static_cast<size_t>(prediction)] = 1;
    matrix.add(logits, truth);
  }
  return matrix;
}

TEST(ConfusionMatrix, TwoClassesHavePrecisionRecallAndF1OfTheSecond) {
  // 3 true positives, 1 false positive, 2 false negatives, 4 true negatives.
  const ConfusionMatrix matrix = confusion(
      2, {{1, 1}, {1, 1}, {1, 1}, {0, 1}, {1, 0}, {1, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}});
  auto metrics = matrix.metrics();
  EXPECT_EQ(matrix.examples(), 10);
  EXPECT_THAT(metrics, ElementsAre(Key("accuracy"), Key("f1"), Key("matthews_correlation"),
                                   Key("precision"), Key("recall")));
  EXPECT_DOUBLE_EQ(metrics["accuracy"], 0.7);
  EXPECT_DOUBLE_EQ(metrics["precision"], 0.75);
  EXPECT_DOUBLE_EQ(metrics["recall"], 0.6);
  EXPECT_DOUBLE_EQ(metrics["f1"], 2 * 0.75 * 0.6 / (0.75 + 0.6));
}

// The example in the documentation of scikit-learn's f1_score: y_true = [0, 1, 2, 0, 1, 2] and
// y_pred = [0, 2, 1, 0, 0, 1]. With average="macro" the score is 0.26...
TEST(ConfusionMatrix, MoreClassesHaveTheMeanOfTheirF1) {
  auto metrics = confusion(3, {{0, 0}, {1, 2}, {2, 1}, {0, 0}, {1, 0}, {2, 1}}).metrics();
  EXPECT_THAT(metrics, ElementsAre(Key("accuracy"), Key("f1_macro")));
  EXPECT_DOUBLE_EQ(metrics["accuracy"], 2.0 / 6);
  EXPECT_DOUBLE_EQ(metrics["f1_macro"], 0.8 / 3);
}

TEST(ConfusionMatrix, AgreesWithScikitLearn) {
  for (const Json& recorded : recorded_cases("classification")) {
    const auto truths = recorded["truths"].get<std::vector<int>>();
    const auto predictions = recorded["predictions"].get<std::vector<int>>();
    const auto classes = recorded["classes"].get<int64_t>();
    std::vector<std::pair<int, int>> pairs;
    for (size_t i = 0; i < truths.size(); ++i) pairs.emplace_back(truths[i], predictions[i]);
    const ConfusionMatrix matrix = confusion(classes, pairs);
    auto metrics = matrix.metrics();
    EXPECT_NEAR(metrics["accuracy"], recorded["accuracy"].get<double>(), 1e-12);
    EXPECT_NEAR(matrix.matthews_correlation(), recorded["matthews_correlation"].get<double>(),
                1e-12);
    if (classes > 2) {
      EXPECT_NEAR(metrics["f1_macro"], recorded["f1_macro"].get<double>(), 1e-12);
    }
    for (int64_t label = 0; label < classes; ++label) {
      expect_counts(matrix.of_class(label), recorded["of_class"], static_cast<size_t>(label));
    }
    if (classes > 2) continue;
    EXPECT_EQ(metrics["matthews_correlation"], matrix.matthews_correlation());
    EXPECT_EQ(metrics["f1"], matrix.of_class(1).f1());
    EXPECT_EQ(metrics["precision"], matrix.of_class(1).precision());
    EXPECT_EQ(metrics["recall"], matrix.of_class(1).recall());
  }
}

TEST(ConfusionMatrix, CountsPairs) {
  const ConfusionMatrix matrix = confusion(3, {{0, 2}, {0, 2}, {2, 0}, {1, 1}});
  EXPECT_EQ(matrix.count(0, 2), 2);
  EXPECT_EQ(matrix.count(2, 0), 1);
  EXPECT_EQ(matrix.count(0, 0), 0);
}

TEST(ConfusionMatrix, AClassWithoutExamplesIsNotInTheMean) {
  auto metrics = confusion(4, {{0, 0}, {1, 1}, {2, 2}}).metrics();
  EXPECT_DOUBLE_EQ(metrics["accuracy"], 1);
  EXPECT_DOUBLE_EQ(metrics["f1_macro"], 1);
}

TEST(ConfusionMatrix, NeverSayingYesHasNoPrecisionButIsNoError) {
  auto metrics = confusion(2, {{1, 0}, {0, 0}}).metrics();
  EXPECT_EQ(metrics["precision"], 0);
  EXPECT_EQ(metrics["recall"], 0);
  EXPECT_EQ(metrics["f1"], 0);
}

TEST(ConfusionMatrix, NoExamplesAreNoError) {
  const ConfusionMatrix matrix(2);
  EXPECT_EQ(matrix.metrics().at("accuracy"), 0);
  EXPECT_EQ(matrix.majority_rate(), 0);
}

TEST(ConfusionMatrix, OneClassIsAlwaysRight) {
  EXPECT_EQ(confusion(1, {{0, 0}, {0, 0}}).metrics().at("accuracy"), 1);
}

TEST(ConfusionMatrix, TheMajorityRateIsThatOfTheMostFrequentTruth) {
  EXPECT_DOUBLE_EQ(confusion(3, {{0, 1}, {2, 1}, {2, 0}, {1, 1}}).majority_rate(), 0.5);
}

TEST(Argmax, IsTheLowestOnATie) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 2}), 1);
  EXPECT_EQ(argmax(std::vector<float>{2, 2, 2}), 0);
  EXPECT_EQ(argmax(std::vector<float>{-1, -5, -1}), 0);
}

TEST(Softmax, SumsToOneAndIgnoresAShift) {
  const std::vector<double> low = softmax(std::vector<float>{0, 1, 2});
  const std::vector<double> high = softmax(std::vector<float>{10000, 10001, 10002});
  EXPECT_NEAR(std::accumulate(low.begin(), low.end(), 0.0), 1, 1e-15);
  EXPECT_NEAR(low[2], 0.66524095577482, 1e-13);
  for (size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(low[i], high[i]);
}

}  // namespace
}  // namespace berth
