#include "trainer/loop/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "storage/base/bytes.h"
#include "tests/support/letter_data.h"
#include "tests/trainer/loop/tiny_model.h"
#include "trainer/metrics/metrics.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

const ReadingOptions kReading{.labels = {"neg", "pos"}};

class EvaluateTest : public testing::Test {
 protected:
  struct Forward {
    std::optional<double> loss;
    std::vector<int64_t> order;
    std::vector<std::vector<float>> logits;
  };
  Forward forward(Dataset& data, int64_t batch_size) {
    Forward result;
    result.loss = run_forward(*tiny_.engine, data, batch_size, stop_,
                              [&](int64_t index, std::span<const float> logits) {
                                result.order.push_back(index);
                                result.logits.emplace_back(logits.begin(), logits.end());
                              });
    return result;
  }

  TinyModel tiny_{3};
  LetterData data_{11};
  std::atomic<bool> stop_ = false;
};

TEST_F(EvaluateTest, GivesEveryExamplesLogitsInOrder) {
  const Forward one = forward(*data_.dataset, 1);
  ASSERT_EQ(one.order.size(), 11u);
  for (int64_t i = 0; i < 11; ++i) EXPECT_EQ(one.order[static_cast<size_t>(i)], i);
  for (const int64_t batch_size : {2, 4, 11, 16}) {
    const Forward many = forward(*data_.dataset, batch_size);
    EXPECT_EQ(many.order, one.order);
    EXPECT_NEAR(many.loss.value(), one.loss.value(), 1e-6);
    for (size_t i = 0; i < 11; ++i) {
      EXPECT_THAT(many.logits[i], testing::Pointwise(testing::FloatNear(1e-5f), one.logits[i]));
    }
  }
}

TEST_F(EvaluateTest, TheLossIsTheMeanOverTheExamples) {
  const Forward all = forward(*data_.dataset, 4);
  double sum = 0;
  for (size_t i = 0; i < 11; ++i) {
    sum -= std::log(softmax(all.logits[i])[static_cast<size_t>(data_.labels[i])]);
  }
  EXPECT_NEAR(all.loss.value(), sum / 11, 1e-6);
}

TEST_F(EvaluateTest, UnlabelledDataHasNoLoss) {
  LetterData unlabelled(5, 16, false);
  const Forward all = forward(*unlabelled.dataset, 2);
  EXPECT_EQ(all.loss, 0);
  EXPECT_EQ(all.logits.size(), 5u);
}

TEST_F(EvaluateTest, AStopEndsItWithoutAResult) {
  stop_ = true;
  EXPECT_EQ(forward(*data_.dataset, 2).loss, std::nullopt);
  Observer nobody;
  EXPECT_FALSE(evaluate(*tiny_.engine, *data_.dataset, 2, kReading, nobody, stop_));
}

TEST_F(EvaluateTest, ComputesTheMetrics) {
  struct Progress final : Observer {
    void on_evaluating(int64_t done, int64_t total) override { seen.emplace_back(done, total); }
    std::vector<std::pair<int64_t, int64_t>> seen;
  } progress;
  const auto result = evaluate(*tiny_.engine, *data_.dataset, 4, kReading, progress, stop_).value();
  const Forward all = forward(*data_.dataset, 4);
  ConfusionMatrix expected(2);
  RankedClasses ranked(1);
  for (size_t i = 0; i < 11; ++i) {
    expected.add(all.logits[i], data_.labels[i]);
    ranked.add(0, all.logits[i][1] - all.logits[i][0], data_.labels[i] == 1);
  }
  auto metrics = expected.metrics();
  metrics.merge(ranked.metrics());
  EXPECT_EQ(result.examples, 11);
  EXPECT_EQ(result.loss, all.loss.value());
  EXPECT_EQ(result.scores.metrics, metrics);
  EXPECT_EQ(result.scores.majority_rate, expected.majority_rate());
  EXPECT_GE(result.seconds, 0);
  ASSERT_EQ(progress.seen.size(), 11u);
  EXPECT_EQ(progress.seen.back(), (std::pair<int64_t, int64_t>{11, 11}));
}

TEST_F(EvaluateTest, LeavesTheModelAsItWas) {
  const Learned before = tiny_.learned();
  forward(*data_.dataset, 4);
  EXPECT_EQ(tiny_.learned(), before);
}

class PredictionsTest : public testing::Test {
 protected:
  // Returns the fields of every line, or nothing if no prediction file was finished.
  std::vector<std::vector<std::string>> predict(Dataset& data,
                                                const std::vector<std::string>& labels) {
    MemorySink sink;
    Observer nobody;
    const auto lines = make_prediction_lines(data, labels, {});
    const std::vector<PredictionFile> files = {{*lines, sink}};
    finished_ = write_predictions(*tiny_.engine, data, 4, files, nobody, stop_, nullptr);
    std::istringstream stream{std::string(as_text(sink.written))};
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(stream, line);) {
      std::istringstream fields(line);
      rows.emplace_back();
      for (std::string field; std::getline(fields, field, '\t');) rows.back().push_back(field);
    }
    return rows;
  }

  TinyModel tiny_{3};
  LetterData data_{11};
  std::atomic<bool> stop_ = false;
  bool finished_ = false;
};

TEST_F(PredictionsTest, HaveAHeaderAndALineForEachExample) {
  const auto rows = predict(*data_.dataset, {"neg", "pos"});
  EXPECT_TRUE(finished_);
  ASSERT_THAT(rows, SizeIs(12));
  EXPECT_THAT(rows[0], ElementsAre("id", "prediction", "neg", "pos"));
  for (size_t i = 1; i < rows.size(); ++i) {
    ASSERT_THAT(rows[i], SizeIs(4));
    EXPECT_EQ(rows[i][0], std::to_string(i - 1));
    const double neg = std::stod(rows[i][2]), pos = std::stod(rows[i][3]);
    EXPECT_NEAR(neg + pos, 1, 2e-9);
    EXPECT_EQ(rows[i][1], pos > neg ? "pos" : "neg");
  }
}

TEST_F(PredictionsTest, ProbabilitiesHaveNineDigits) {
  for (const auto& row : predict(*data_.dataset, {"neg", "pos"})) {
    if (row[0] == "id") continue;
    for (const std::string& field : {row[2], row[3]}) {
      EXPECT_THAT(field, testing::MatchesRegex("[01]\\.[0-9]{9}"));
    }
  }
}

TEST_F(PredictionsTest, IdsAreRowsOfTheTable) {
  const auto some = data_.data->some({7, 2});
  const auto rows = predict(*some, {"neg", "pos"});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[1][0], "7");
  EXPECT_EQ(rows[2][0], "2");
}

// tests/trainer/tasks says how line ends are quoted.
TEST_F(PredictionsTest, ALabelWithQuotesIsQuoted) {
  const auto rows = predict(*data_.dataset, {"a\"b", "c"});
  EXPECT_THAT(rows[0], ElementsAre("id", "prediction", "\"a\"\"b\"", "c"));
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_THAT(rows[i], SizeIs(4));
    EXPECT_THAT(rows[i][1], testing::AnyOf("\"a\"\"b\"", "c"));
  }
}

TEST_F(PredictionsTest, AStopLeavesThemUnfinished) {
  stop_ = true;
  predict(*data_.dataset, {"neg", "pos"});
  EXPECT_FALSE(finished_);
}

}  // namespace
}  // namespace berth
