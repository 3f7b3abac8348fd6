// What an evaluation and a prediction make of the logits of choices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "trainer/tasks/evaluator.h"
#include "trainer/tasks/predictions.h"

namespace berth {
namespace {

// The features of a row are its label alone.
class ChosenFeatures final : public FeatureMaker {
 public:
  std::vector<Features> make(const Example& example) const override {
    return {{.input_ids = {1}, .token_type_ids = {0}, .classes = example.labels}};
  }
};

// Rows of a context and three choices.
struct ChoiceData {
  explicit ChoiceData(const std::vector<int32_t>& labels) {
    for (const int32_t label : labels) {
      table.append({.texts = {"context", "one", "two", "three"}, .labels = {label}});
    }
    table.finish();
    std::vector<uint32_t> rows(table.rows());
    std::iota(rows.begin(), rows.end(), 0u);
    data.emplace(table, rows, Task::kMultipleChoice, maker, true);
  }

  ExampleTable table;
  ChosenFeatures maker;
  std::optional<Dataset> data;
};

TEST(Choices, AccuracyCountsRowsWhoseRightChoiceHasTheLargestLogit) {
  ChoiceData rows({2, 0, 1, 0});
  const auto evaluator = make_evaluator(*rows.data, {}, {});
  evaluator->add(0, std::vector<float>{0, 1, 2});
  evaluator->add(1, std::vector<float>{-3, -2, -5});
  evaluator->add(2, std::vector<float>{4, 4, 0});  // equal: the first one is chosen
  evaluator->add(3, std::vector<float>{1, 1, 1});
  const TaskScores scores = evaluator->finish();
  EXPECT_DOUBLE_EQ(scores.metrics.at("accuracy"), 0.5);
  ASSERT_EQ(scores.details.mistakes.size(), 2u);
  const Mistake& worst = scores.details.mistakes[0];
  EXPECT_EQ(worst.id, "1");
  EXPECT_EQ(worst.truth, "0");
  EXPECT_EQ(worst.prediction, "1");
  EXPECT_THAT(worst.texts, testing::ElementsAre("context", "one", "two", "three"));
}

TEST(Choices, ALineHasTheNumberOfTheChoiceAndAllProbabilities) {
  ChoiceData rows({0});
  const std::vector<float> logits = {0, 0, 20};
  const auto lines = make_prediction_lines(*rows.data, {}, {});
  EXPECT_EQ(lines->header(), "id\tprediction\t0\t1\t2\n");
  EXPECT_EQ(lines->add(0, logits), "0\t2\t0.000000002\t0.000000002\t0.999999996\n");
  const auto with_texts = with_text_columns(make_prediction_lines(*rows.data, {}, {}), *rows.data);
  EXPECT_EQ(with_texts->header(), "id\tprediction\t0\t1\t2\ttext\tchoice_0\tchoice_1\tchoice_2\n");
  EXPECT_THAT(with_texts->add(0, logits), testing::EndsWith("\tcontext\tone\ttwo\tthree\n"));
}

}  // namespace
}  // namespace berth
