#include "trainer/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "storage/base/philox.h"
#include "storage/base/utf8.h"
#include "tests/trainer/metrics/recorded_cases.h"
#include "trainer/metrics/python_text.h"

namespace berth {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsNan;
using testing::Key;
using testing::Pair;

using Golds = std::vector<std::string>;

TEST(AnswerMetrics, AgreeWithSquadsScripts) {
  for (const Json& recorded : recorded_cases("answers")) {
    AnswerMetrics all;
    double exact_sum = 0, f1_sum = 0;
    for (size_t i = 0; i < recorded["questions"].size(); ++i) {
      const auto prediction = recorded["questions"][i][0].get<std::string>();
      const auto golds = recorded["questions"][i][1].get<Golds>();
      EXPECT_EQ(normalized_answer(prediction), recorded["normalized"][i].get<std::string>());
      AnswerMetrics one;
      for (AnswerMetrics* metrics : {&all, &one}) metrics->add(prediction, golds);
      const auto exact = recorded["exact_match"][i].get<double>();
      const auto f1 = recorded["f1"][i].get<double>();
      EXPECT_EQ(one.metrics().at("exact_match"), exact) << prediction;
      EXPECT_NEAR(one.metrics().at("f1"), f1, 1e-12) << prediction;
      exact_sum += exact;
      f1_sum += f1;
    }
    const auto questions = static_cast<double>(recorded["questions"].size());
    EXPECT_EQ(static_cast<double>(all.questions()), questions);
    EXPECT_NEAR(all.metrics().at("exact_match"), exact_sum / questions, 1e-12);
    EXPECT_NEAR(all.metrics().at("f1"), f1_sum / questions, 1e-12);
  }
}

TEST(AnswerMetrics, NoQuestionsAreNoError) {
  EXPECT_EQ(AnswerMetrics().metrics().at("exact_match"), 0);
  EXPECT_EQ(AnswerMetrics().metrics().at("f1"), 0);
}

TEST(AnswerMetrics, InvalidUtf8IsNoError) {
  EXPECT_EQ(normalized_answer("a \xC3 b\xFF"), "\xEF\xBF\xBD b\xEF\xBF\xBD");
  EXPECT_EQ(normalized_answer("\xE4\xB8"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(normalized_answer("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(PythonText, CodePointsSurviveTheRoundTrip) {
  const std::string text = "a\x7F\u00e9\u07ff\u0800\uffff\U00010000\U0010ffff";
  EXPECT_EQ(to_utf8(code_points(text)), text);
  EXPECT_EQ(code_points(text).size(), 8u);
}

// Python 3.11 gives the expected counts over all code points below 0x20000. They show that
// no character is missing from the tables.
TEST(PythonText, KnowsAsManyCharactersAsPython) {
  int64_t alphanumeric = 0, spaces = 0, cased = 0;
  uint64_t lower_sum = 0;
  for (char32_t c = 0; c < 0x20000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    alphanumeric += is_alphanumeric(c);
    spaces += is_space(c);
    const std::u32string lower = lowered(std::u32string(1, c));
    cased += lower != std::u32string(1, c);
    for (const char32_t part : lower) lower_sum += part;
  }
  EXPECT_EQ(alphanumeric, 67736);
  EXPECT_EQ(spaces, 29);
  EXPECT_EQ(cased, 1433);
  EXPECT_EQ(lower_sum, 8477219355u);
}

TEST(Calibration, IsTheMeanDistanceOfConfidenceAndAccuracy) {
  Calibration calibration;
  EXPECT_EQ(calibration.error(), 0);
  calibration.add(0.75, true);
  calibration.add(0.75, false);
  calibration.add(1, true);
  calibration.add(1, true);
  // The first bin is 0.25 too sure for two of four predictions; the last one is right.
  EXPECT_DOUBLE_EQ(calibration.error(), 0.125);
  EXPECT_EQ(calibration.bins()[7].count, 2);
  EXPECT_EQ(calibration.bins()[9].right, 2);
}

TEST(Calibration, DoesNotCountWhatIsNoNumber) {
  Calibration calibration;
  calibration.add(NAN, true);
  calibration.add(2, true);
  EXPECT_EQ(calibration.predictions(), 1);
  EXPECT_EQ(calibration.bins()[9].count, 1);
}

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

using Tags = std::vector<std::string>;

TEST(Entities, AreReadFromEveryScheme) {
  const std::vector<Entity> expected = {{"PER", 0, 1}, {"LOC", 2, 2}, {"LOC", 3, 3}};
  EXPECT_EQ(entities_of(Tags{"B-PER", "I-PER", "B-LOC", "B-LOC", "O"}), expected);  // IOB2
  EXPECT_EQ(entities_of(Tags{"I-PER", "I-PER", "I-LOC", "B-LOC", "O"}), expected);  // IOB1
  EXPECT_EQ(entities_of(Tags{"B-PER", "E-PER", "S-LOC", "S-LOC", "O"}), expected);  // BIOES
}

TEST(Entities, WithoutPrefixesAreRunsOfATag) {
  EXPECT_THAT(entities_of(Tags{"ORG", "ORG", "O", "ORG", "EVENT"}),
              ElementsAre(Entity{"ORG", 0, 1}, Entity{"ORG", 3, 3}, Entity{"EVENT", 4, 4}));
}

TEST(Entities, AreNotInEmptyOrOutsideTags) {
  EXPECT_THAT(entities_of(Tags{}), IsEmpty());
  EXPECT_THAT(entities_of(Tags{"O", ".", "", "O"}), IsEmpty());
}

TEST(EntityMetrics, AgreeWithSeqeval) {
  for (const Json& recorded : recorded_cases("entities")) {
    const auto truths = recorded["truths"].get<std::vector<Tags>>();
    const auto predictions = recorded["predictions"].get<std::vector<Tags>>();
    EntityMetrics counted;
    for (size_t i = 0; i < truths.size(); ++i) counted.add(truths[i], predictions[i]);
    EXPECT_EQ(counted.metrics().size(), 4u);
    for (const auto& [key, value] : counted.metrics()) {
      EXPECT_NEAR(value, recorded[key].get<double>(), 1e-12) << key << recorded["truths"];
    }
    for (const auto& [type, row] : recorded["types"].items()) {
      ASSERT_EQ(counted.types().count(type), 1u) << type;
      const ClassCounts& counts = counted.types().at(type);
      EXPECT_NEAR(counts.precision(), row["precision"].get<double>(), 1e-12) << type;
      EXPECT_NEAR(counts.recall(), row["recall"].get<double>(), 1e-12) << type;
      EXPECT_NEAR(counts.f1(), row["f1-score"].get<double>(), 1e-12) << type;
      EXPECT_EQ(static_cast<double>(counts.support), row["support"].get<double>()) << type;
    }
  }
}

TEST(EntityMetrics, HalfAnEntityDoesNotCount) {
  EntityMetrics counted;
  counted.add(Tags{"B-PER", "I-PER", "O"}, Tags{"B-PER", "O", "O"});
  EXPECT_EQ(counted.metrics().at("entity_f1"), 0);
  EXPECT_DOUBLE_EQ(counted.metrics().at("accuracy"), 2.0 / 3);
}

TEST(EntityMetrics, NoSentencesAreNoError) {
  for (const auto& [key, value] : EntityMetrics().metrics()) EXPECT_EQ(value, 0) << key;
}

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

TEST(RegressionMetrics, HaveNoCorrelationWhereAllNumbersAreAlike) {
  for (const RegressionMetrics& metrics :
       {of({0.1, 0.1, 0.1}, {1, 2, 3}), of({1, 2, 3}, {0.1, 0.1, 0.1}), of({7}, {7})}) {
    EXPECT_TRUE(std::isnan(metrics.pearson()));
    EXPECT_TRUE(std::isnan(metrics.spearman()));
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

TEST(RocArea, IsTheShareOfPairsInTheRightOrder) {
  struct Example {
    float logit;
    bool is_positive;
  };
  std::vector<Example> examples;
  RocArea area;
  for (uint32_t i = 0; i < 500; ++i) {
    const auto random = philox4x32({i, 0, 0, 0}, {3, 4});
    const bool is_positive = random[0] % 4 == 0;
    const float logit = static_cast<float>(random[1] * 0x1p-29) - (is_positive ? 3.0f : 4.0f);
    examples.push_back({logit, is_positive});
    area.add(logit, is_positive);
  }
  double pairs = 0, right = 0;
  for (const Example& positive : examples) {
    for (const Example& negative : examples) {
      if (!positive.is_positive || negative.is_positive) continue;
      ++pairs;
      right += positive.logit > negative.logit ? 1 : 0;
    }
  }
  EXPECT_NEAR(area.area(), right / pairs, 1e-4);
}

TEST(RocArea, CountsATieHalfAndWeighs) {
  RocArea area;
  EXPECT_EQ(area.area(), 0.5);
  area.add(1, true);
  EXPECT_EQ(area.area(), 0.5);
  area.add(1, false);
  EXPECT_EQ(area.area(), 0.5);
  area.add(0, false, 3);
  EXPECT_EQ(area.area(), (0.5 + 3) / 4);
}

TEST(RocArea, TakesAnyLogit) {
  RocArea area;
  area.add(std::numeric_limits<float>::infinity(), true);
  area.add(-1e30f, false);
  area.add(std::numeric_limits<float>::quiet_NaN(), false);
  EXPECT_EQ(area.area(), 1);
}

TEST(RankedClasses, AgreeWithScikitLearn) {
  for (const Json& recorded : recorded_cases("ranking")) {
    const auto truths = recorded["truths"].get<std::vector<int>>();
    const auto scores = recorded["scores"].get<std::vector<std::vector<float>>>();
    const auto classes = recorded["classes"].get<size_t>();
    RankedClasses ranked(classes == 2 ? 1 : classes);
    double first_five = 0;
    for (size_t row = 0; row < truths.size(); ++row) {
      if (classes == 2) ranked.add(0, scores[row][1] - scores[row][0], truths[row] == 1);
      for (size_t i = 0; i < classes && classes > 2; ++i) {
        ranked.add(i, scores[row][i], truths[row] == static_cast<int>(i));
      }
      first_five += is_among_first(scores[row], truths[row], 5) ? 1 : 0;
    }
    const auto metrics = ranked.metrics();
    EXPECT_NEAR(metrics.at("roc_auc"), recorded["roc_auc"].get<double>(), 1e-12) << classes;
    EXPECT_NEAR(metrics.at("average_precision"), recorded["average_precision"].get<double>(), 1e-12)
        << classes;
    if (classes <= 5) continue;
    EXPECT_NEAR(first_five / static_cast<double>(truths.size()),
                recorded["top_5_accuracy"].get<double>(), 1e-12);
  }
}

TEST(RankedClasses, CountOnlyClassesWithExamplesAndOthers) {
  RankedClasses ranked(3);
  EXPECT_TRUE(std::isnan(ranked.metrics().at("roc_auc")));
  EXPECT_TRUE(std::isnan(ranked.metrics().at("average_precision")));
  for (const float score : {1.0f, 2.0f}) {
    ranked.add(0, score, score > 1);
    ranked.add(1, score, false);
    ranked.add(2, score, true);
  }
  EXPECT_EQ(ranked.metrics().at("roc_auc"), 1);
  EXPECT_EQ(ranked.metrics().at("average_precision"), 1);
  EXPECT_TRUE(RankedClasses(RankedClasses::kMost + 1).metrics().empty());
}

TEST(RankedScores, DoNotCountWhatIsNoNumber) {
  RankedScores scores;
  scores.add(NAN, true);
  EXPECT_FALSE(scores.has_both());
  scores.add(1, true);
  scores.add(INFINITY, false);
  EXPECT_EQ(scores.roc_area(), 0);
  EXPECT_EQ(scores.average_precision(), 0.5);
}

TEST(SimilarityMetrics, IsTheMeanCosine) {
  SimilarityMetrics metrics;
  metrics.add(std::vector<float>{2, 0}, std::vector<float>{0.5, 0});  // the same direction
  metrics.add(std::vector<float>{1, 1}, std::vector<float>{1, 0});    // 45 degrees
  metrics.add(std::vector<float>{0, -3}, std::vector<float>{0, 1});   // opposite
  EXPECT_NEAR(metrics.metrics().at("cosine_similarity"), 0.70710678 / 3, 1e-7);
}

TEST(SimilarityMetrics, AZeroVectorCountsAsZero) {
  SimilarityMetrics metrics;
  EXPECT_EQ(metrics.metrics().at("cosine_similarity"), 0);
  metrics.add(std::vector<float>{0, 0}, std::vector<float>{1, 0});
  metrics.add(std::vector<float>{1, 0}, std::vector<float>{1, 0});
  EXPECT_EQ(metrics.metrics().at("cosine_similarity"), 0.5);
}

TEST(ThresholdCounts, CountsWhatEachThresholdWouldPredict) {
  ThresholdCounts counts;
  counts.add(1, true);
  counts.add(0.75, true);
  counts.add(0.75, false);
  counts.add(0.5025, true);  // between two thresholds
  counts.add(0, false);
  EXPECT_EQ(counts.examples(), 5);
  const auto at = counts.at_thresholds();
  const auto expect = [&](size_t threshold, int64_t hits, int64_t predicted) {
    EXPECT_EQ(at[threshold].true_positives, hits) << threshold;
    EXPECT_EQ(at[threshold].predicted, predicted) << threshold;
    EXPECT_EQ(at[threshold].support, 3) << threshold;
  };
  expect(0, 3, 5);  // everything
  expect(1, 3, 4);
  expect(100, 3, 4);  // from 0.5 on
  expect(101, 2, 3);
  expect(150, 2, 3);  // from 0.75 on
  expect(151, 1, 1);
  expect(200, 1, 1);
  EXPECT_DOUBLE_EQ(at[150].precision(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(at[150].recall(), 2.0 / 3);
}

TEST(ThresholdCounts, DoesNotCountWhatIsNoNumber) {
  ThresholdCounts counts;
  counts.add(NAN, true);
  counts.add(2, true);
  EXPECT_EQ(counts.examples(), 1);
  EXPECT_EQ(counts.at_thresholds()[200].predicted, 1);
  EXPECT_EQ(ThresholdCounts().at_thresholds()[0].precision(), 0);
}

}  // namespace
}  // namespace berth
