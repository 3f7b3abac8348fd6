#include "entrypoint/job/odd_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/rows_in_memory.h"
#include "trainer/data/table_loader.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The warnings of a table with `rows` rows, whose labels take turns. The file declares `classes`.
std::vector<std::string> warnings_of(std::vector<std::string> classes, int rows,
                                     std::vector<std::string> labels) {
  std::vector<Row> all;
  for (int i = 0; i < rows; ++i) {
    all.push_back({Cell(std::to_string(i)), Cell(labels[static_cast<size_t>(i) % labels.size()])});
  }
  TableLoader loader({.task = Task::kSequenceClassification});
  const bool declares = !classes.empty();
  loader.append_rows(std::make_unique<RowsInMemory>(
      std::vector<Column>{
          {"text", {}},
          {.name = "label", .categories = std::move(classes), .declares_classes = declares}},
      std::move(all)));
  TrainingRows training;
  training.task = loader.task();
  training.train.table = loader.finish();
  training.labels = training.train.table->labels.names();
  std::vector<std::string> texts;
  for (const Finding& found : look_at_labels(training, /*holds_rows_out=*/false)) {
    texts.push_back(found.text);
  }
  return texts;
}

std::vector<std::string> warnings_of_tags(const std::string& tags) {
  TableLoader loader({.task = Task::kTokenClassification});
  loader.append_rows(
      std::make_unique<RowsInMemory>(std::vector<Column>{{"tokens", {}}, {"tags", {}}},
                                     std::vector<Row>{{Cell(std::string("a b c")), Cell(tags)}}));
  TrainingRows training;
  training.task = loader.task();
  training.train.table = loader.finish();
  training.labels = training.train.table->labels.names();
  std::vector<std::string> texts;
  for (const Finding& found : look_at_labels(training, /*holds_rows_out=*/false)) {
    texts.push_back(found.text);
  }
  return texts;
}

TEST(OddLabels, TagsThatAreWrittenOtherwiseAreNamed) {
  const auto is_odd = ElementsAre(HasSubstr("some tags here are written otherwise"));
  for (const char* tags : {"B-X O 0", "B-X O \u041E", "B-X O B-", "B-X O PER", "<B-X> <O> <O>",
                           "X O O", "B-X I-X X", "NN _ VB"}) {
    EXPECT_THAT(warnings_of_tags(tags), is_odd) << tags;
  }
  for (const char* tags : {"B-X O I-X", "B-X I-X I-X", "NN VB -LRB-", "B I O"}) {
    EXPECT_THAT(warnings_of_tags(tags), IsEmpty()) << tags;
  }
}

TEST(OddLabels, AreWarnedOfWhereEachRowHasItsOwn) {
  EXPECT_THAT(warnings_of({}, 4, {"a", "b", "c", "d"}),
              ElementsAre(HasSubstr("every row has a label of its own")));
  EXPECT_THAT(warnings_of({}, 8, {"a", "b", "c", "d"}), IsEmpty());
}

TEST(OddLabels, ClassesWithoutRowsAreNoLabelsOfRows) {
  std::vector<std::string> classes = {"a", "b"};
  for (int i = 0; i < 150; ++i) classes.push_back("class " + std::to_string(i));
  EXPECT_THAT(warnings_of(classes, 20, {"a", "b"}), IsEmpty());
}

}  // namespace
}  // namespace berth
