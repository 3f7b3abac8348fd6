#include "trainer/data/deduce_task.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

Task deduced(std::vector<Column> columns, std::vector<Row> rows, const ColumnChoice& choice = {}) {
  return deduce_task({columns, rows}, choice);
}

TEST(DeduceTask, ByColumnsAndTheFirstRows) {
  const std::vector<Column> labelled = {{"text", {}}, {"label", {}}};
  EXPECT_EQ(deduced(labelled, {{"a", "x"}}), Task::kSequenceClassification);
  EXPECT_EQ(deduced(labelled, {{"a", "1.0"}, {"b", "2"}}), Task::kSequenceClassification);
  EXPECT_EQ(deduced(labelled, {{"a", "1.0"}, {"b", "2.5"}}), Task::kRegression);
  EXPECT_EQ(deduced(labelled, {{"a", Cell(0.5)}}), Task::kRegression);
  EXPECT_EQ(deduced(labelled, {{"a", "(1.5)"}, {"b", "2"}}), Task::kRegression);
  EXPECT_EQ(deduced(labelled, {{"a", "(1,5)"}, {"b", "2,5"}}), Task::kRegression);
  EXPECT_EQ(deduced(labelled, {{"a", "(1,5)"}, {"b", "(2,5)"}}), Task::kMultiLabel);
  EXPECT_EQ(deduced(labelled, {{"a", "2.5"}, {"b", "v2"}}), Task::kSequenceClassification);
  EXPECT_EQ(deduced(labelled, {{"a", "x|y"}}), Task::kMultiLabel);
  EXPECT_EQ(deduced(labelled, {{"a", R"(["x"])"}}), Task::kMultiLabel);
  EXPECT_EQ(deduced(labelled, {{"a", "['x', 'y']"}}), Task::kMultiLabel);
  EXPECT_EQ(deduced(labelled, {{"a", R"(["x",null])"}}), Task::kMultiLabel);
  EXPECT_EQ(deduced(labelled, {{"a", "[PAD]"}}), Task::kSequenceClassification);
  EXPECT_EQ(deduced({{"sentence1", {}}, {"sentence2", {}}, {"score", {}}}, {}), Task::kRegression);
  EXPECT_EQ(deduced({{"tokens", {}}, {"ner_tags", {}}}, {}), Task::kTokenClassification);
  EXPECT_EQ(deduced({{"tokens", {}}, {"ner", {}}}, {}), Task::kTokenClassification);
  EXPECT_EQ(deduced({{"question", {}}, {"context", {}}, {"answers", {}}}, {}),
            Task::kQuestionAnswering);
  EXPECT_EQ(deduced(labelled, {{"a b", "B-PER O"}, {"c", "O"}}), Task::kTokenClassification);
  EXPECT_EQ(deduced(labelled, {{"a b", "B-PER"}, {"c", "O"}}), Task::kSequenceClassification);
  EXPECT_EQ(deduced(labelled, {{"a b", "B-PER x"}}), Task::kSequenceClassification);
  EXPECT_EQ(deduced({{"text", {}}, {"a", {}}, {"b", {}}}, {}, {.label = "a,b"}), Task::kMultiLabel);
}

}  // namespace
}  // namespace berth
