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

TEST(DeclaredClasses, AreRestrictedByKnownLabels) {
  TableLoader loader({.task = Task::kSequenceClassification, .known_labels = {"neg", "pos"}});
  EXPECT_THAT(declared_names(loader, {"pos", "neg", "other"}), UnorderedElementsAre("neg", "pos"));
}

}  // namespace
}  // namespace berth
