#include "trainer/data/label_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/read_label_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

// One odd row among multi-hot lists. A list that has a 0 or 1 twice holds no names.
TEST(MultiHot, AnOddRowIsRefusedByItsPlace) {
  for (const char* odd : {"[1, 0]", "[]", "[1, 0, -1]", "[2, 0, 1]"}) {
    std::vector<Cell> cells(20, "[0, 1, 0]");
    cells[7] = "[1, 1, 0]";
    cells[12] = odd;
    EXPECT_THAT([&] { read_label_rows(cells); },
                ThrowsCode(Code::kBadData, "row 12: label \"" + std::string(odd) +
                                               "\" is not a list of 3 numbers 0 and 1"));
  }
}

TEST(MultiHot, ANumberThatAListHasTwiceIsNoName) {
  EXPECT_THAT(
      [] {
        read_label_rows(label_cells({"[0, 0, 3]", "[1, 2]", "[5]"}));
      },
      ThrowsCode(Code::kBadData, "row 0: label \"[0, 0, 3]\" has \"0\" twice"));
  EXPECT_THAT(
      [] {
        read_label_rows(label_cells({"['yes', 'no', 'no']", "['no', 'no', 'yes']"}));
      },
      ThrowsCode(Code::kBadData, "has \"no\" twice, so it holds no names"));
  EXPECT_THAT(read_label_rows(label_cells({"['a', 'a']", "['b']"})).names, ElementsAre("a", "b"));
}

TEST(MultiHot, MarksWithoutBracketsAskForTheirSeparator) {
  for (const char separator : {';', ','}) {
    std::vector<Cell> cells;
    for (std::string text : {"1;1", "0;1", "1;0", "0;0"}) {
      text[1] = separator;
      cells.emplace_back(text);
    }
    EXPECT_THAT([&] { read_label_rows(cells, {.task = Task::kMultiLabel}); },
                ThrowsCode(Code::kBadData, "say by --label-separator what stands between them"));
    const LoadRules named{.task = Task::kMultiLabel,
                          .labels = {.separators = std::string(1, separator)}};
    EXPECT_THAT(read_label_rows(cells, named).sets[1], ElementsAre("1"));
  }
}

// Rows to evaluate on are read as those to train on.
TEST(LabelForms, AreKeptForOtherRows) {
  const LoadRules names{.task = Task::kMultiLabel,
                        .labels = {.lists = LabelLists::kNames, .is_settled = true},
                        .known_labels = {"0", "1"}};
  const ReadLabels lists = read_label_rows(label_cells({"[0, 1]", "[0, 1]"}), names);
  EXPECT_THAT(lists.sets, ElementsAre(ElementsAre("0", "1"), ElementsAre("0", "1")));
  EXPECT_EQ(lists.says, "");
  const LoadRules semicolons{.task = Task::kMultiLabel,
                             .labels = {.separators = ";", .is_settled = true}};
  EXPECT_THAT(read_label_rows(label_cells({"r;g"}), semicolons).names, ElementsAre("g", "r"));
  const LoadRules marks{.task = Task::kMultiLabel,
                        .labels = {.positions = 3, .is_settled = true},
                        .known_labels = {"0", "1", "2"}};
  EXPECT_THAT([&] { read_label_rows(label_cells({"[0, 2]"}), marks); },
              ThrowsCode(Code::kBadData, "label \"[0, 2]\" is not a list of 3 numbers 0 and 1"));
}

TEST(MultiHot, VectorsOfRAreSets) {
  const ReadLabels labels = read_label_rows(label_cells({R"(c("red", "blue"))", R"(c("blue"))"}));
  EXPECT_EQ(labels.task, Task::kMultiLabel);
  EXPECT_THAT(labels.names, ElementsAre("blue", "red"));
}

TEST(MultiHot, TuplesOfNamesAreSets) {
  const ReadLabels labels = read_label_rows(label_cells({"('red', 'blue')", "('red',)"}));
  EXPECT_EQ(labels.task, Task::kMultiLabel);
  EXPECT_THAT(labels.sets, ElementsAre(ElementsAre("red", "blue"), ElementsAre("red")));
  EXPECT_EQ(labels.rules, "tuples of labels;");
  EXPECT_EQ(read_label_rows(label_cells({"(good, bad)", "(5)"})).task,
            Task::kSequenceClassification);
  EXPECT_THAT(read_label_rows(label_cells({"('a', 'b')", "()", "('a',)"})).sets,
              ElementsAre(ElementsAre("a", "b"), IsEmpty(), ElementsAre("a")));
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
}

TEST(Classes, MinusOneBesideNumbersFromZeroIsNamed) {
  const auto said_of = [](const std::vector<int64_t>& numbers) {
    std::vector<Cell> cells;
    for (const int64_t number : numbers) cells.emplace_back(number);
    return read_label_rows(cells).says;
  };
  EXPECT_THAT(said_of({0, 1, 2, -1}), HasSubstr("the label -1 is a class"));
  EXPECT_EQ(said_of({0, 1, -1}), "");
  EXPECT_EQ(said_of({1, 2, 3, -1}), "");
  EXPECT_EQ(said_of({0, 1, 2, -1, -2}), "");
}

TEST(JoinedLabels, HaveOneSeparatorInAColumn) {
  const LoadRules sets{.task = Task::kMultiLabel};
  const ReadLabels labels =
      read_label_rows(label_cells({"Doe, Jane", "Smith, John|Doe, Jane"}), sets);
  EXPECT_THAT(labels.names, ElementsAre("Doe, Jane", "Smith, John"));
  EXPECT_EQ(labels.rules, "one separator of labels;");
  std::vector<Cell> cells(1000, "a, b");
  cells.push_back("a|b");
  EXPECT_THAT(
      [&] { read_label_rows(cells, sets); },
      ThrowsCode(Code::kBadData, "row 1000: label \"a|b\" has a '|', but labels before it"));
}

TEST(JoinedLabels, BringAWarningWhereTheSeparatorIsRare) {
  for (const char* separator :
       {"\t",           " ",      "+",        "&",      " - ",     "\xC2\xB7", "\xE3\x80\x81",
        "\xEF\xBC\x9B", "::",     ">",        "#",      ":",       "^",        "~",
        "__",           ". ",     " \u2013 ", "\u2022", "\u060C ", "\u061B",   "\uFF5C",
        "\uFF0F",       "\u30FB", "\u2192",   " and ",  "\\n",     "\uFF0C"}) {
    std::vector<Cell> cells;
    for (const char* set : {"red", "green*red", "blue*green", "blue", "red*blue*green"}) {
      std::string text = set;
      for (size_t at; (at = text.find('*')) != std::string::npos;) text.replace(at, 1, separator);
      cells.emplace_back(text);
    }
    EXPECT_THAT(read_label_rows(cells, {.task = Task::kMultiLabel}).says,
                HasSubstr("are read as one; --label-separator splits them"))
        << separator;
    EXPECT_THAT(read_label_rows(cells).says, HasSubstr("--task multi_label reads it")) << separator;
  }
  EXPECT_THAT(
      read_label_rows(label_cells({"x - y", "y-z"}), {.labels = {.separators = " - "}}).names,
      ElementsAre("x", "y", "y-z"));
  EXPECT_THAT(read_label_rows(label_cells({"red;blue", "red, blue", "red", "blue"}),
                              {.task = Task::kMultiLabel})
                  .says,
              HasSubstr("\"red, blue\" are read as one"));
  EXPECT_EQ(read_label_rows(label_cells({"very bad", "very good", "good", "bad day"})).says, "");
  EXPECT_THAT(
      read_label_rows(label_cells({"a, b, and c", "c", "a, b"}), {.task = Task::kMultiLabel}).says,
      HasSubstr("the label \"and c\" is read beside \"c\""));
}

TEST(Classes, ThatAreBitsAreNamed) {
  EXPECT_THAT(read_label_rows(label_cells({"010", "110", "000", "010"})).says,
              HasSubstr("have a 0 or 1 in each place, and each text is one class"));
  const std::vector<std::vector<std::string>> usual = {
      {"10", "11", "100", "101"}, {"100", "101", "110"}, {"0", "1", "1"}, {"01", "10", "01"}};
  for (const std::vector<std::string>& others : usual) {
    std::vector<Cell> cells;
    for (const std::string& text : others) cells.emplace_back(text);
    EXPECT_THAT(read_label_rows(cells).says, testing::Not(HasSubstr("in each place")));
  }
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
  for (const auto& cells : {label_cells({"1,234", "12,500"}), label_cells({"1,234", "5"})}) {
    EXPECT_THAT([&] { read_label_rows(cells); },
                ThrowsCode(Code::kBadData, "commas that may be decimal or may separate thousands"));
  }
}

TEST(Numbers, OfOtherTextsAreNoDecimals) {
  EXPECT_EQ(read_label_rows(label_cells({"1,5", "x"})).task, Task::kSequenceClassification);
  EXPECT_EQ(read_label_rows(label_cells({"a,b", "c"})).task, Task::kSequenceClassification);
  EXPECT_EQ(read_label_rows(label_cells({"1,5", "1.5"})).task, Task::kSequenceClassification);
}

TEST(Numbers, AreReadByOneFormInAColumn) {
  const auto expect_scores = [](const std::vector<std::string>& cells,
                                const std::vector<float>& scores) {
    const ReadLabels labels = read_label_rows(label_cells(cells));
    EXPECT_EQ(labels.task, Task::kRegression) << cells[0];
    EXPECT_EQ(labels.scores, scores) << cells[0];
    EXPECT_NE(labels.rules, "") << cells[0];
    EXPECT_EQ(read_label_rows(label_cells(cells), {.task = Task::kRegression}).scores, scores);
  };
  expect_scores({"1,234.50", "2.25", "987.00"}, {1234.5f, 2.25f, 987});
  expect_scores({"1 234,5", "2,5"}, {1234.5f, 2.5f});
  expect_scores({"1\xC2\xA0"
                 "234,5",
                 "2,5"},
                {1234.5f, 2.5f});
  expect_scores({"1\xE2\x80\xAF"
                 "234,5",
                 "2,5"},
                {1234.5f, 2.5f});
  expect_scores({"1'234.5", "2.5"}, {1234.5f, 2.5f});
  expect_scores({"99,5 %", "1 %"}, {99.5f, 1});
  expect_scores({"0.5%", "10%"}, {0.5f, 10});
  expect_scores({"$1.50", "-$2.00"}, {1.5f, -2});
  expect_scores({"\xE2\x82\xAC 1,50", "\xE2\x82\xAC 2"}, {1.5f, 2});
  expect_scores({"\xE2\x88\x92"
                 "1.5",
                 "2"},
                {-1.5f, 2});
}

TEST(Numbers, AmongWhichIsAnotherTextAreRefusedOrBringAWarning) {
  for (const char* odd : {"n/a", "-", "inf", "1.5 kg"}) {
    std::vector<Cell> cells(10, "2.5");
    cells[4] = odd;
    EXPECT_THAT([&] { read_label_rows(cells); }, ThrowsCode(Code::kBadData, "row 4: ")) << odd;
  }
  const ReadLabels labels = read_label_rows(label_cells({"1.5", "2.5", "new", "old"}));
  EXPECT_EQ(labels.task, Task::kSequenceClassification);
  EXPECT_THAT(labels.says, HasSubstr("warning: 2 of the first 4 labels are numbers"));
  EXPECT_THAT(
      [] {
        read_label_rows(label_cells({"0.125"}),
                        {.task = Task::kRegression,
                         .labels = {.numbers = {.decimal = ','}, .is_settled = true}});
      },
      ThrowsCode(Code::kBadData, "which have decimal commas"));
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
  for (const char* name : {"stars", "rating", "score", "similarity"}) {
    const std::vector<Column> scores = {{"text", {}}, {name, {}}};
    for (const auto& cells : {std::vector<Cell>{1.0, 5.0, 2.0},
                              {int64_t{1}, int64_t{5}, int64_t{2}},
                              label_cells({"1", "5", "2"})}) {
      const ReadLabels labels = read_label_rows(cells, {}, false, scores);
      EXPECT_THAT(labels.names, ElementsAre("1", "2", "5"));
      EXPECT_THAT(labels.says, HasSubstr("--task regression"));
    }
    EXPECT_THAT(read_label_rows(label_cells({"5 stars", "1 star"}), {}, false, scores).names,
                ElementsAre("1 star", "5 stars"));
    EXPECT_EQ(read_label_rows({Cell(0.5), Cell(1.0)}, {}, false, scores).task, Task::kRegression);
    const std::vector<Column> pairs = {{"sentence1", {}}, {name, {}}, {"sentence2", {}}};
    EXPECT_EQ(read_label_rows({Cell(0.0), Cell(5.0)}, {}, false, pairs).task, Task::kRegression);
  }
  EXPECT_EQ(read_label_rows({Cell(0.0), Cell(1.0)}).says, "");
  EXPECT_EQ(read_label_rows(label_cells({"1", "2", "3"})).says, "");
}

TEST(Sets, OfOneLabelEachBringAWarning) {
  for (const auto& cells : {label_cells({"[\"a\"]", "[\"b\"]"}), label_cells({"[0]", "[1]"}),
                            label_cells({"[1, 0, 0]", "[0, 0, 1]"})}) {
    EXPECT_THAT(read_label_rows(cells).says,
                HasSubstr("--task sequence_classification learns one class for each text"));
    EXPECT_THAT(read_label_rows(cells, {.task = Task::kMultiLabel}).says,
                testing::Not(HasSubstr("each text has one label")));
  }
  for (const auto& cells :
       {label_cells({"[\"a\"]", "[\"a\", \"b\"]"}), label_cells({"[1, 0]", "[0, 0]"})}) {
    EXPECT_THAT(read_label_rows(cells).says, testing::Not(HasSubstr("each text has one label")));
  }
}

TEST(Numbers, AmongWhichIsADecimalCommaSaySo) {
  const LoadRules regression{.task = Task::kRegression};
  EXPECT_THAT(
      [&] {
        read_label_rows(label_cells({"0.5", "1.5", "2.5", "1,5"}), regression);
      },
      ThrowsCode(Code::kBadData, "\"1,5\" has a decimal comma"));
}

}  // namespace
}  // namespace berth
