#include "trainer/tasks/reranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "trainer/tasks/evaluator.h"
#include "trainer/tasks/predictions.h"

namespace berth {
namespace {

using testing::ElementsAre;

// The features of a row are its labels alone.
class ScoredFeatures final : public FeatureMaker {
 public:
  std::vector<Features> make(const Example& example) const override {
    Features features{.input_ids = {1}, .token_type_ids = {0}};
    if (example.texts.size() == 2) features.targets = {example.score};
    return {features};
  }
};

// Rows of a query and its passages, with a label where there is one passage.
struct Lists {
  Lists(Task task, const std::vector<Example>& examples) {
    for (const Example& example : examples) table.append(example);
    table.finish();
    std::vector<uint32_t> rows(table.rows());
    std::iota(rows.begin(), rows.end(), 0u);
    data.emplace(table, rows, task, maker, true);
  }
  TaskScores scores(const std::vector<std::vector<float>>& logits) {
    const auto evaluator = make_evaluator(*data, {}, {});
    for (size_t i = 0; i < logits.size(); ++i) evaluator->add(static_cast<int64_t>(i), logits[i]);
    return evaluator->finish();
  }

  ExampleTable table;
  ScoredFeatures maker;
  std::optional<Dataset> data;
};

Example pair(const std::string& query, const std::string& passage, float label = 0) {
  return {.texts = {query, passage}, .score = label};
}

TEST(RerankingEvaluatorTest, RowsOfAQueryAreOneList) {
  Lists lists(Task::kReranking, {pair("q", "a", 0), pair("r", "x", 1), pair("q", "b", 1),
                                 pair("q", "c", 0), pair("s", "y", 0)});
  const TaskScores scores = lists.scores({{3}, {0}, {2}, {1}, {5}});
  // q finds its passage at the second place, r at the first one, and s has none.
  EXPECT_DOUBLE_EQ(scores.metrics.at("mrr_at_10"), (0.5 + 1 + 0) / 3);
  EXPECT_DOUBLE_EQ(scores.metrics.at("map"), (0.5 + 1 + 0) / 3);
  EXPECT_EQ(scores.note, "of 3 queries with 5 passages; the 1 without a relevant one count as 0");
  ASSERT_EQ(scores.details.missed.size(), 1u);
  const MissedQuery& missed = scores.details.missed[0];
  EXPECT_EQ(missed.query, "q");
  EXPECT_EQ(missed.wanted, "b");
  EXPECT_EQ(missed.wanted_id, "2");
  EXPECT_EQ(missed.rank, 2);
  EXPECT_EQ(missed.first, "a");
}

TEST(RerankingEvaluatorTest, APassageStandsOnceInItsList) {
  // As FlagEmbedding's rows with two positives and the same negatives.
  Lists lists(Task::kListReranking,
              {{.texts = {"q", "a", "n", "m"}}, {.texts = {"q", "b", "n", "a"}}});
  const TaskScores scores = lists.scores({{4, 3, 1}, {2, 3, 4}});
  EXPECT_EQ(scores.note, "of 1 query with 4 passages");
  // The ranking is a, n, b, m, of which a and b are relevant.
  EXPECT_DOUBLE_EQ(scores.metrics.at("map"), (1 + 2.0 / 3) / 2);
}

TEST(RanksInLists, CountWithinTheQuery) {
  const Lists lists(Task::kReranking, {pair("q", "a"), pair("r", "x"), pair("q", "b"),
                                       pair("q", " "), pair("q", "c"), pair("r", "y")});
  const std::vector<float> scores = {0.5f, 0.1f, 0.9f, 0.99f, 0.5f, 0.2f};
  EXPECT_THAT(ranks_in_lists(*lists.data, scores), ElementsAre(2, 2, 1, 0, 3, 1));
}

TEST(RanksInLists, StandInTheLines) {
  Lists lists(Task::kReranking, {pair("q", "a")});
  const auto lines = make_prediction_lines(*lists.data, {"score"}, {});
  EXPECT_EQ(lines->header(), "id\tscore\trank\n");
  EXPECT_EQ(lines->add(0, std::vector<float>{0.25f, 3}), "0\t0.250000000\t3\n");
}

}  // namespace
}  // namespace berth
