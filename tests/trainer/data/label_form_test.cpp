#include "trainer/data/label_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rows_in_memory.h"
#include "tests/support/throws_code.h"
#include "trainer/data/table_loader.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<Column> kLabelColumns = {{"text", {}}, {"labels", {}}};

// What becomes of a table with these labels.
struct ReadLabels {
  Task task;
  std::vector<std::string> names{};
  std::vector<std::vector<std::string>> sets{};
  std::vector<float> scores{};
  std::string rules{}, says{};
};

ReadLabels read_label_rows(const std::vector<Cell>& labels, LoadRules rules = {}) {
  std::vector<Row> rows;
  for (const Cell& label : labels) rows.push_back({"some text", label});
  TableLoader loader(rules);
  loader.append_rows(std::make_unique<RowsInMemory>(kLabelColumns, rows));
  const auto table = loader.finish();
  ReadLabels result{.task = loader.task(), .names = table->labels.names()};
  for (uint32_t row = 0; row < table->rows(); ++row) {
    const Example example = table->read(row);
    auto& set = result.sets.emplace_back();
    for (const int32_t entry : example.labels) set.push_back(table->labels.name_of(entry));
    result.scores.push_back(example.score);
  }
  for (const Finding& found : loader.findings()) {
    if (!found.rule.empty()) result.rules += found.rule + ";";
    result.says += (found.is_warning ? "warning: " : "") + found.text + "\n";
  }
  return result;
}

std::vector<Cell> label_cells(const std::vector<std::string>& cells) {
  return {cells.begin(), cells.end()};
}

// scikit-learn's MultiLabelBinarizer, pandas, numpy and JSON write them so.
TEST(MultiHot, ListsOfOneLengthAreLabelsByPosition) {
  for (const auto& cells :
       {label_cells({"[1, 0, 1]", "[0, 0, 0]", "[0, 1, 0]"}),
        label_cells({"[1.0,0.0,1.0]", "[0.0,0.0,0.0]", "[0.0,1.0,0.0]"}),
        label_cells({"[true,false,true]", "[false,false,false]", "[false,true,false]"}),
        label_cells({"[True, False, True]", "[False, False, False]", "[False, True, False]"}),
        label_cells({"[1 0 1]", "[0 0 0]", "[0 1 0]"}),
        label_cells({"[1. 0. 1.]", "[0. 0. 0.]", "[0. 1. 0.]"}),
        label_cells({"(1, 0, 1)", "(0, 0, 0)", "(0, 1, 0)"}),
        label_cells({"tensor([1., 0., 1.])", "tensor([0., 0., 0.])",
                     "tensor([0., 1., 0.], dtype=torch.float64)"}),
        label_cells({"1 0 1", "0 0 0", "0 1 0"}), label_cells({"1,0,1", "0,0,0", "0,1,0"}),
        label_cells({"1|0|1", "0|0|0", "0|1|0"})}) {
    const ReadLabels labels = read_label_rows(cells);
    EXPECT_EQ(labels.task, Task::kMultiLabel) << std::get<std::string>(cells[0]);
    EXPECT_THAT(labels.names, ElementsAre("0", "1", "2"));
    EXPECT_THAT(labels.sets, ElementsAre(ElementsAre("0", "2"), IsEmpty(), ElementsAre("1")));
    EXPECT_EQ(labels.rules, "multi-hot lists;");
    EXPECT_THAT(labels.says, HasSubstr("lists of 3 numbers 0 and 1"));
  }
}

TEST(MultiHot, ALabelThatNoRowHasCounts) {
  EXPECT_THAT(read_label_rows(label_cells({"[1, 0]", "[0, 0]"})).names, ElementsAre("0", "1"));
}

TEST(MultiHot, KnownLabelsAreTheNamesOfThePositions) {
  const ReadLabels labels = read_label_rows(label_cells({"[1, 0, 1]", "[0, 0, 1]"}),
                                            {.known_labels = {"red", "green", "blue"}});
  EXPECT_THAT(labels.sets, ElementsAre(ElementsAre("red", "blue"), ElementsAre("blue")));
  EXPECT_THAT(
      [] {
        read_label_rows(label_cells({"[1, 0]", "[0, 1]"}), {.known_labels = {"a", "b", "c"}});
      },
      ThrowsCode(Code::kBadData, "lists of 2 numbers 0 and 1, but there are 3 labels"));
}

TEST(MultiHot, OtherListsHoldNames) {
  EXPECT_THAT(read_label_rows(label_cells({"[0, 1]", "[1]"})).sets,
              ElementsAre(ElementsAre("0", "1"), ElementsAre("1")));
  EXPECT_THAT(read_label_rows(label_cells({"[0, 2]", "[1, 0]"})).names, ElementsAre("0", "1", "2"));
  EXPECT_THAT(read_label_rows(label_cells({"[1]", "[0]"})).names, ElementsAre("0", "1"));
  const ReadLabels given =
      read_label_rows(label_cells({"[0, 1]", "[1, 0]"}), {.labels = {.lists = LabelLists::kNames}});
  EXPECT_THAT(given.sets, ElementsAre(ElementsAre("0", "1"), ElementsAre("1", "0")));
  EXPECT_EQ(given.rules, "");
  EXPECT_THAT(
      [] {
        read_label_rows(label_cells({"['x']", "[1, 0]"}),
                        {.labels = {.lists = LabelLists::kMultiHot}});
      },
      ThrowsCode(Code::kBadData, "the labels are no lists of one length"));
}

TEST(MultiHot, ALaterListOfAnotherKindIsRefused) {
  std::vector<Cell> cells(1000, "[1, 0, 1]");
  cells.push_back("[1, 0]");
  EXPECT_THAT([&] { read_label_rows(cells); },
              ThrowsCode(Code::kBadData, "row 1000: label \"[1, 0]\" is not a list of 3 numbers"));
  EXPECT_THAT(
      [] {
        read_label_rows({"[1, 0]", "[0, 1]", Cell()});
      },
      ThrowsCode(Code::kBadData, "row 2: label \"labels\" is missing"));
}

TEST(MultiHot, TuplesOfNamesAreSets) {
  const ReadLabels labels = read_label_rows(label_cells({"('red', 'blue')", "('red',)"}));
  EXPECT_EQ(labels.task, Task::kMultiLabel);
  EXPECT_THAT(labels.sets, ElementsAre(ElementsAre("red", "blue"), ElementsAre("red")));
  EXPECT_EQ(labels.rules, "tuples of labels;");
  EXPECT_EQ(read_label_rows(label_cells({"(good, bad)", "(5)"})).task,
            Task::kSequenceClassification);
}

TEST(JoinedLabels, AreSplitWhereThatGivesFewLabels) {
  const LoadRules sets{.task = Task::kMultiLabel};
  for (const char* separator : {"; ", "/", "\n"}) {
    std::vector<Cell> cells;
    for (const char* set : {"red", "green+red", "blue+green", "blue", "red+blue+green"}) {
      std::string text = set;
      for (size_t at; (at = text.find('+')) != std::string::npos;) text.replace(at, 1, separator);
      cells.emplace_back(text);
    }
    const ReadLabels labels = read_label_rows(cells, sets);
    EXPECT_THAT(labels.names, ElementsAre("blue", "green", "red"));
    EXPECT_THAT(labels.rules, HasSubstr("labels separated by "));
  }
}

TEST(JoinedLabels, AreKeptWhereASeparatorMayBelongToThem) {
  const LoadRules sets{.task = Task::kMultiLabel};
  const ReadLabels labels = read_label_rows(label_cells({"Sci/Tech", "World", "Sports"}), sets);
  EXPECT_THAT(labels.names, ElementsAre("Sci/Tech", "Sports", "World"));
  EXPECT_THAT(labels.says,
              HasSubstr("warning: labels such as \"Sci/Tech\" are read as one; --label-separator"));
  EXPECT_THAT(
      read_label_rows(label_cells({"Sci/Tech", "World"}), {.labels = {.separators = "/"}}).names,
      ElementsAre("Sci", "Tech", "World"));
  EXPECT_EQ(read_label_rows(label_cells({"x, y", "x|z"}), sets).rules, "");
}

TEST(JoinedLabels, AreClassesWithAWarningWhereNoTaskWasGiven) {
  const ReadLabels labels =
      read_label_rows(label_cells({"red", "green; red", "blue; green", "blue", "red; blue"}));
  EXPECT_EQ(labels.task, Task::kSequenceClassification);
  EXPECT_THAT(labels.says, HasSubstr("warning: each text of the label column is one class"));
  EXPECT_THAT(read_label_rows(label_cells({"Sci/Tech", "World", "Sports"})).says, "");
}

TEST(Numbers, MayHaveDecimalCommas) {
  const ReadLabels labels = read_label_rows(label_cells({"0,5", "-1,25", "3", "1.234,5"}));
  EXPECT_EQ(labels.task, Task::kRegression);
  EXPECT_THAT(labels.scores, ElementsAre(0.5f, -1.25f, 3, 1234.5f));
  EXPECT_EQ(labels.rules, "decimal commas;");
  EXPECT_THAT(read_label_rows(label_cells({"0,125", "1,234"})).scores, ElementsAre(0.125f, 1.234f));
  EXPECT_THAT(read_label_rows(label_cells({"0,5"}), {.task = Task::kRegression}).scores,
              ElementsAre(0.5f));
}

TEST(Numbers, WhoseCommasMayBeOfThousandsAreRefused) {
  for (const auto& cells : {label_cells({"1,234", "12,500"}), label_cells({"1,234,567"})}) {
    EXPECT_THAT([&] { read_label_rows(cells); },
                ThrowsCode(Code::kBadData, "commas that may be decimal or may separate thousands"));
  }
}

TEST(Numbers, OfOtherTextsAreNoDecimals) {
  EXPECT_EQ(read_label_rows(label_cells({"1,5", "x"})).task, Task::kSequenceClassification);
  EXPECT_EQ(read_label_rows(label_cells({"a,b", "c"})).task, Task::kSequenceClassification);
  EXPECT_EQ(read_label_rows(label_cells({"1,5", "1.5"})).task, Task::kSequenceClassification);
}

// The rule of docs/tasks.md, for texts as for numbers.
TEST(Numbers, WithAFractionAreARegressionAndOthersClasses) {
  EXPECT_EQ(read_label_rows({Cell(1.0), Cell(2.5)}).task, Task::kRegression);
  for (const auto& cells : {std::vector<Cell>{1.0, 2.0, 5.0}, label_cells({"1.0", "2.0", "5.0"})}) {
    const ReadLabels labels = read_label_rows(cells);
    EXPECT_THAT(labels.names, ElementsAre("1", "2", "5"));
    EXPECT_THAT(labels.says, HasSubstr("warning: labels such as \"1.0\" are whole numbers"));
    EXPECT_THAT(labels.says, HasSubstr("--task regression"));
  }
  EXPECT_EQ(read_label_rows({Cell(0.0), Cell(1.0)}).says, "");
  EXPECT_EQ(read_label_rows(label_cells({"1", "2", "3"})).says, "");
}

}  // namespace
}  // namespace berth
