#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rows_in_memory.h"
#include "trainer/data/table_loader.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// The names of the labels of two rows, "neg" and "pos", in a column that declares these classes.
std::vector<std::string> declared_names(TableLoader& loader, std::vector<std::string> classes) {
  const auto cell = [](std::string text) { return Cell(std::move(text)); };
  loader.append_rows(std::make_unique<RowsInMemory>(
      std::vector<Column>{
          {"text", {}},
          {.name = "label", .categories = std::move(classes), .declares_classes = true}},
      std::vector<Row>{{cell("a"), cell("neg")}, {cell("b"), cell("pos")}}));
  return loader.finish()->labels.names();
}

TEST(DeclaredClasses, CountWithoutRows) {
  TableLoader loader({.task = Task::kSequenceClassification});
  EXPECT_THAT(declared_names(loader, {"pos", "neg", "other"}), ElementsAre("pos", "neg", "other"));
  ASSERT_EQ(loader.findings().size(), 1u);
  EXPECT_EQ(loader.findings()[0].rule, "classes without rows");
  EXPECT_THAT(loader.findings()[0].text, HasSubstr("1 class without a row: \"other\";"));
}

TEST(DeclaredClasses, WithRowsAreNoFinding) {
  TableLoader loader({.task = Task::kSequenceClassification});
  EXPECT_THAT(declared_names(loader, {"pos", "neg"}), ElementsAre("pos", "neg"));
  EXPECT_THAT(loader.findings(), IsEmpty());
}

TEST(DeclaredClasses, AreIntegersInAnyForm) {
  const auto cell = [](std::string text) { return Cell(std::move(text)); };
  TableLoader loader({.task = Task::kSequenceClassification});
  loader.append_rows(std::make_unique<RowsInMemory>(
      std::vector<Column>{
          {"text", {}}, {.name = "label", .categories = {"2", "1", "0"}, .declares_classes = true}},
      std::vector<Row>{{cell("a"), cell("1.0")}, {cell("b"), cell("2.0")}}));
  EXPECT_THAT(loader.finish()->labels.names(), ElementsAre("2", "1", "0"));
  ASSERT_EQ(loader.findings().size(), 1u);
  EXPECT_THAT(loader.findings()[0].text, HasSubstr("1 class without a row: \"0\";"));
}

TEST(DeclaredClasses, AreRestrictedByKnownLabels) {
  TableLoader loader({.task = Task::kSequenceClassification, .known_labels = {"neg", "pos"}});
  EXPECT_THAT(declared_names(loader, {"pos", "neg", "other"}), UnorderedElementsAre("neg", "pos"));
}

TEST(DeclaredClasses, OutrankTheUsualLabelsOfABenchmark) {
  TableLoader loader(
      {.task = Task::kSequenceClassification, .known_labels = {"0", "1"}, .known_are_usual = true});
  EXPECT_THAT(declared_names(loader, {"neg", "pos"}), ElementsAre("neg", "pos"));
  EXPECT_THAT(loader.known_labels(), IsEmpty());
  TableLoader same({.task = Task::kSequenceClassification,
                    .known_labels = {"pos", "neg"},
                    .known_are_usual = true});
  EXPECT_THAT(declared_names(same, {"neg", "pos"}), UnorderedElementsAre("neg", "pos"));
  EXPECT_THAT(same.known_labels(), ElementsAre("pos", "neg"));
}

TEST(DeclaredClasses, NameTheNumbersOfAModelsOutputs) {
  TableLoader loader({.task = Task::kSequenceClassification, .known_labels = {"0", "1"}});
  EXPECT_THAT(declared_names(loader, {"neg", "pos"}), UnorderedElementsAre("0", "1"));
  TableLoader other({.task = Task::kSequenceClassification, .known_labels = {"0", "1", "2"}});
  EXPECT_THROW(declared_names(other, {"neg", "pos"}), Error);
  TableLoader named({.task = Task::kSequenceClassification, .known_labels = {"bad", "good"}});
  EXPECT_THROW(declared_names(named, {"neg", "pos"}), Error);
}

TEST(DeclaredClasses, CountOnlyWhereTheTaskHasClasses) {
  const auto cell = [](std::string text) { return Cell(std::move(text)); };
  TableLoader loader({.task = Task::kMultipleChoice});
  loader.append_rows(std::make_unique<RowsInMemory>(
      std::vector<Column>{{"question", {}},
                          {"choices", {}},
                          {.name = "label", .categories = {"0", "1"}, .declares_classes = true}},
      std::vector<Row>{{cell("a"), cell(R"(["x", "y"])"), cell("1")}}));
  EXPECT_THAT(loader.finish()->labels.names(), IsEmpty());
  EXPECT_THAT(loader.findings(), IsEmpty());
}

// In SNLI of the Hub, -1 says that annotators did not agree. It has no name.
TEST(DeclaredClasses, APairWithoutOneIsLeftOut) {
  const auto cell = [](std::string text) { return Cell(std::move(text)); };
  const std::vector<Column> columns = {
      {"premise", {}},
      {"hypothesis", {}},
      {.name = "label", .categories = {"no", "yes"}, .declares_classes = true}};
  TableLoader loader({});
  loader.append_rows(std::make_unique<RowsInMemory>(
      columns, std::vector<Row>{{cell("a"), cell("b"), cell("no")},
                                {cell("a"), cell("c"), Cell()},
                                {cell("a"), cell("d"), cell("yes")}}));
  EXPECT_EQ(loader.finish()->rows(), 2u);
  ASSERT_EQ(loader.findings().size(), 1u);
  EXPECT_THAT(loader.findings()[0].text, HasSubstr("left out 1 row"));
}

// A contest's split to test has a column of labels without any.
TEST(DeclaredClasses, OfATestMayBeMissingEverywhere) {
  const auto cell = [](std::string text) { return Cell(std::move(text)); };
  const auto read = [&](std::vector<Cell> labels, LabelNeed need) {
    std::vector<Row> rows;
    for (Cell& label : labels) rows.push_back({cell("a"), std::move(label)});
    TableLoader loader(
        {.task = Task::kSequenceClassification, .need = need, .known_labels = {"no", "yes"}});
    loader.append_rows(std::make_unique<RowsInMemory>(
        std::vector<Column>{{"text", {}}, {"label", {}}}, std::move(rows), /*has_types=*/true));
    return loader.finish()->labelled;
  };
  EXPECT_FALSE(read({Cell(), Cell()}, LabelNeed::kIfPresent));
  EXPECT_FALSE(read({Cell(int64_t{-1}), Cell(int64_t{-1})}, LabelNeed::kIfPresent));
  EXPECT_TRUE(read({cell("no"), cell("yes")}, LabelNeed::kIfPresent));
  EXPECT_THROW(read({Cell(int64_t{-1}), cell("yes")}, LabelNeed::kIfPresent), Error);
  EXPECT_THROW(read({Cell(), Cell()}, LabelNeed::kRequired), Error);
}

}  // namespace
}  // namespace berth
