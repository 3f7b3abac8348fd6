#include "trainer/data/table_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/rows_in_memory.h"
#include "tests/support/throws_code.h"
#include "trainer/data/deduce_task.h"

namespace berth {
namespace {

using testing::HasSubstr;

using testing::ElementsAre;
using testing::IsEmpty;

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
  for (const char* tags : {"B-PER,O", "B-PER;O", "B-PER|O", "['B-PER', 'O']", "('B-PER', 'O')"}) {
    EXPECT_EQ(deduced(labelled, {{"a b", tags}}), Task::kTokenClassification) << tags;
  }
  EXPECT_EQ(deduced(labelled, {{"a b", "['B-PER', 'x']"}}), Task::kMultiLabel);
  EXPECT_EQ(deduced(labelled, {{"a b", "B-PER x"}}), Task::kSequenceClassification);
  for (const char* odd : {"B-PER OTHER", "o B-PER", "0 O", "_ O", "['B-PER', 'OTHER']"}) {
    const std::vector<Row> rows = {
        {"a b", "B-PER O"}, {"a b", "B-PER O"}, {"a b", odd}, {"a b", "O B-LOC"}, {"c", "O"}};
    EXPECT_EQ(deduced(labelled, rows), Task::kTokenClassification) << odd;
  }
  EXPECT_EQ(deduced({{"text", {}}, {"a", {}}, {"b", {}}}, {}, {.label = "a,b"}), Task::kMultiLabel);
}

ScoreScale scale_of(double first, double step, int count) {
  ScoreScale scale;
  for (int i = 0; i < count; ++i) scale.add(first + step * i);
  return scale;
}

TEST(ScoreScale, AScaleUpToOneIsBelowOneUpToFive) {
  const ScoreScale ones = scale_of(0, 0.05, 21), fives = scale_of(0, 0.25, 21);
  EXPECT_TRUE(ones.is_below(fives));
  EXPECT_FALSE(fives.is_below(ones));
  EXPECT_TRUE(scale_of(-1, 0.1, 21).is_below(scale_of(0, 5, 21)));  // cosines and percents
  EXPECT_FALSE(ones.is_below(ones));
  EXPECT_FALSE(fives.is_below(scale_of(0, 0.5, 21)));  // 0 to 10
  EXPECT_FALSE(scale_of(0, 0.25, 4).is_below(fives));  // few rows show nothing
}

TEST(ScoreScale, AFewLargeScoresAreNoOtherScale) {
  ScoreScale most_below = scale_of(0, 0.01, 100);
  most_below.add(50);
  EXPECT_FALSE(scale_of(0, 0.05, 21).is_below(most_below));
}

TEST(ScoreScale, AddsThoseOfOtherFiles) {
  ScoreScale both = scale_of(0, 0.05, 21);
  both.add(scale_of(0, 0.25, 21));
  EXPECT_EQ(both.largest(), 5);
  EXPECT_TRUE(scale_of(0, 0.05, 21).is_below(both));
}

TEST(ScoreScale, ARangeOfScoresIsAsWideAsTheScores) {
  const ScoreScale ones = scale_of(0, 0.05, 21), fives = scale_of(0, 0.25, 21);
  EXPECT_TRUE(ScoreScale(ones.range().value()).is_below(fives));
  EXPECT_TRUE(ones.is_below(ScoreScale(fives.range().value())));
  EXPECT_FALSE(fives.is_below(ScoreScale(fives.range().value())));
  EXPECT_EQ(fives.range()->largest, 5);
  ScoreScale most_below = scale_of(0, 0.01, 100);
  most_below.add(50);
  EXPECT_FALSE(ones.is_below(ScoreScale(most_below.range().value())));
  EXPECT_FALSE(scale_of(0, 0.25, 4).range()) << "few rows show nothing";
}

TEST(EqualIds, AreCounted) {
  const auto warned = [](const std::vector<const char*>& ids, LabelNeed need, const char* column) {
    TableLoader loader({.task = Task::kSequenceClassification, .need = need});
    std::vector<Row> rows;
    for (const char* id : ids) rows.push_back({id, "a text", "x"});
    loader.append_rows(std::make_unique<RowsInMemory>(
        std::vector<Column>{{column, {}}, {"text", {}}, {"label", {}}}, std::move(rows)));
    loader.finish();
    std::string all;
    for (const Finding& found : loader.findings()) all += found.text;
    return all;
  };
  const std::vector<const char*> twice = {"1", "2", "1", "3", "1"};
  EXPECT_THAT(warned(twice, LabelNeed::kIgnored, "id"),
              HasSubstr("2 rows have the id of an earlier row, such as \"1\""));
  EXPECT_EQ(warned({"1", "2", "3"}, LabelNeed::kIgnored, "id"), "");
  EXPECT_THAT(warned({"7", "", "8"}, LabelNeed::kIgnored, "id"),
              HasSubstr("1 row has no id, and the number of the row, from 0, stands in its place"));
  EXPECT_EQ(warned({"", ""}, LabelNeed::kIgnored, "id"), "");
  EXPECT_EQ(warned(twice, LabelNeed::kIgnored, "qid"), "") << "passages of a query";
  EXPECT_EQ(warned(twice, LabelNeed::kRequired, "id"), "") << "rows to train on";
}

TEST(FileRows, RowsOfTheFilesBeforeAreCounted) {
  FileRows rows;
  rows.expect_several();
  rows.begin_file(0);
  const auto add = [&](int first, int count, int label) {
    for (int i = first; i < first + count; ++i) {
      rows.add({.texts = {"text " + std::to_string(i)}, .labels = {label}}, /*has_score=*/false);
    }
  };
  add(0, 20, 1);
  add(0, 20, 1);
  EXPECT_FALSE(rows.are_repeated()) << "within one file";
  rows.begin_file(0);
  add(0, 10, 1);
  EXPECT_TRUE(rows.are_repeated());
  EXPECT_EQ(rows.repeated(), 10u);
  rows.begin_file(0);
  add(0, 20, 2);
  EXPECT_FALSE(rows.are_repeated()) << "other labels";
  rows.begin_file(0);
  add(15, 20, 1);
  EXPECT_FALSE(rows.are_repeated()) << "a quarter of the rows";
}

const Cell kMissing;

Cell text(const std::string& value) { return value; }
Cell integer(int64_t value) { return value; }

// A loaded table in a form that tests can compare.
struct ReadTable {
  explicit ReadTable(TableLoader& loader) : table(loader.finish()), columns(loader.columns()) {
    for (uint32_t row = 0; row < table->rows(); ++row) {
      const Example example = table->read(row);
      texts.push_back(example.texts.at(0));
      if (example.texts.size() > 1) pairs.push_back(example.texts[1]);
      for (const int32_t entry : example.labels) entries.push_back(entry);
    }
    label_names = table->labels.names();
    const std::vector<int32_t> classes = table->labels.classes(label_names);
    for (const int32_t entry : entries) {
      labels.push_back(label_names[static_cast<size_t>(classes[static_cast<size_t>(entry)])]);
    }
  }

  std::unique_ptr<ExampleTable> table;
  ColumnChoice columns;
  std::vector<std::string> texts, pairs, labels, label_names;
  std::vector<int32_t> entries;
};

constexpr Task kClasses = Task::kSequenceClassification;

ReadTable read(std::vector<Column> columns, std::vector<Row> rows, const ColumnChoice& choice = {},
               LabelNeed need = LabelNeed::kRequired) {
  TableLoader loader({.task = kClasses, .columns = choice, .need = need});
  loader.append_rows(std::make_unique<RowsInMemory>(std::move(columns), std::move(rows)));
  return ReadTable(loader);
}

// Reads a table that has one row with some text for each label.
ReadTable labelled(const std::vector<Cell>& labels, std::vector<std::string> categories = {}) {
  std::vector<Row> rows;
  for (const Cell& label : labels) rows.push_back({text("some text"), label});
  return read({{"text", {}}, {"label", std::move(categories)}}, std::move(rows));
}

TEST(TableLoader, KeepsTheFilesOrder) {
  const ReadTable table =
      read({{"id", {}}, {"text", {}}, {"label", {}}}, {{integer(1), text("b"), text("x")},
                                                       {integer(2), text("a"), text("y")},
                                                       {integer(3), text("b"), text("x")}});
  EXPECT_THAT(table.texts, ElementsAre("b", "a", "b"));
  EXPECT_THAT(table.labels, ElementsAre("x", "y", "x"));
  EXPECT_THAT(table.pairs, IsEmpty());
  EXPECT_EQ(table.table->rows(), 3u);
  EXPECT_EQ(table.columns.text, "text");
  EXPECT_EQ(table.columns.label, "label");
  EXPECT_EQ(table.columns.text_pair, "");
}

TEST(TableLoader, OneRowIsATable) {
  const ReadTable table = labelled({text("only")});
  EXPECT_THAT(table.label_names, ElementsAre("only"));
}

TEST(TableLoader, HasASecondTextForEveryRow) {
  const ReadTable table =
      read({{"premise", {}}, {"hypothesis", {}}}, {{text("p"), text("h")}, {text("q"), text("")}},
           {}, LabelNeed::kIfPresent);
  EXPECT_THAT(table.texts, ElementsAre("p", "q"));
  EXPECT_THAT(table.pairs, ElementsAre("h", ""));
  EXPECT_THAT(table.labels, IsEmpty());
  EXPECT_THAT(table.label_names, IsEmpty());
}

TEST(TableLoader, AnEmptyTextIsAcceptedAndAMissingTextIsNot) {
  EXPECT_THAT(read({{"text", {}}}, {{text("")}}, {}, LabelNeed::kIfPresent).texts, ElementsAre(""));
  EXPECT_THAT(
      [] {
        read({{"text", {}}}, {{text("a")}, {kMissing}}, {}, LabelNeed::kIfPresent);
      },
      ThrowsCode(Code::kBadData, "row 1: the cell of column \"text\" is empty"));
}

TEST(TableLoader, ANumberIsTakenAsText) {
  const ReadTable table =
      read({{"text", {}}}, {{integer(-7)}, {Cell(2.5)}, {Cell(true)}}, {}, LabelNeed::kIfPresent);
  EXPECT_THAT(table.texts, ElementsAre("-7", "2.5", "True"));
}

TEST(TableLoader, NamesAreSorted) {
  EXPECT_THAT(labelled({text("pos"), text("neg"), text("pos"), text("Zero")}).label_names,
              ElementsAre("Zero", "neg", "pos"));
}

TEST(TableLoader, CategoriesThatAreWholeNumbersKeepTheirOrder) {
  EXPECT_THAT(labelled({text("1.0"), text("3.0")}, {"3.0", "1.0"}).label_names,
              ElementsAre("3", "1"));
}

TEST(TableLoader, IntegersGoByValue) {
  EXPECT_THAT(labelled({integer(10), integer(9), integer(-1), integer(10)}).label_names,
              ElementsAre("-1", "9", "10"));
}

TEST(TableLoader, IntegersOfATextFileGoByValueToo) {
  const ReadTable table = labelled({text("10"), text("9"), text("2")});
  EXPECT_THAT(table.label_names, ElementsAre("2", "9", "10"));
  EXPECT_THAT(table.labels, ElementsAre("10", "9", "2"));
}

TEST(TableLoader, WholeFloatsAreIntegers) {
  EXPECT_THAT(labelled({Cell(1.0), Cell(0.0), Cell(-0.0)}).label_names, ElementsAre("0", "1"));
  EXPECT_THAT(labelled({text("1.0"), text("0.0"), text("1")}).label_names, ElementsAre("0", "1"));
}

TEST(TableLoader, BlanksAroundALabelAreRemoved) {
  EXPECT_THAT(labelled({text(" 1"), text("0"), text("1"), text("+0 ")}).label_names,
              ElementsAre("0", "1"));
  EXPECT_THAT(labelled({text(" pos"), text("pos")}).label_names, ElementsAre("pos"));
  EXPECT_THAT(labelled({text("low"), text("high")}, {"low ", "high"}).label_names,
              ElementsAre("low", "high"));
  EXPECT_THAT([] { labelled({text("  ")}); },
              ThrowsCode(Code::kBadData, "row 0: label \"label\" is missing"));
}

TEST(TableLoader, LargeIntegersStayApart) {
  const int64_t large = 1'000'000'000'000'000'001;
  EXPECT_THAT(labelled({integer(large + 1), integer(large)}).label_names,
              ElementsAre("1000000000000000001", "1000000000000000002"));
  EXPECT_THAT(labelled({text("12345678901234567890123"), text("12345678901234567890124")}).labels,
              ElementsAre("12345678901234567890123", "12345678901234567890124"));
}

TEST(TableLoader, CategoriesKeepTheirOrderAndUnusedOnesAreDropped) {
  EXPECT_THAT(labelled({text("mid"), text("low"), text("high")}, {"low", "mid", "high", "never"})
                  .label_names,
              ElementsAre("low", "mid", "high"));
}

TEST(TableLoader, BooleansAreFalseAndTrue) {
  EXPECT_THAT(labelled({Cell(true), Cell(false)}).label_names, ElementsAre("False", "True"));
}

TEST(TableLoader, AMissingLabelIsNamedByItsRow) {
  for (const Cell& missing :
       {kMissing, text(""), text("nan"), Cell(std::numeric_limits<double>::quiet_NaN())}) {
    EXPECT_THAT(
        [&] {
          labelled({text("a"), text("b"), missing});
        },
        ThrowsCode(Code::kBadData, "row 2: label \"label\" is missing"));
  }
}

TEST(TableLoader, FractionsAreNoClasses) {
  EXPECT_THAT(
      [] {
        labelled({integer(1), Cell(0.5)});
      },
      ThrowsCode(Code::kBadData, "row 1: label 0.5 is not a class"));
  EXPECT_THAT(
      [] {
        labelled({text("1"), text("2.25")});
      },
      ThrowsCode(Code::kBadData, R"(row 1: label "2.25" is a fraction)"));
  EXPECT_THAT(labelled({text("v1.5"), text("2.25")}).label_names, ElementsAre("2.25", "v1.5"));
}

TEST(TableLoader, WordsThatReadAsNumbersAreWords) {
  EXPECT_THAT(labelled({text("inf"), text("1")}).label_names, ElementsAre("1", "inf"));
}

TEST(TableLoader, ATableWithoutRowsIsRefused) {
  EXPECT_THAT([] { labelled({}); }, ThrowsCode(Code::kBadData, "has no rows"));
}

// Reads several tables as one.
ReadTable joined(std::vector<RowsInMemory> parts, LabelNeed need = LabelNeed::kRequired) {
  TableLoader loader({.task = kClasses, .need = need});
  for (RowsInMemory& part : parts) {
    loader.append_rows(std::make_unique<RowsInMemory>(std::move(part)));
  }
  return ReadTable(loader);
}

TEST(TableLoader, ClassesAreSplitByValueAndNotBySpelling) {
  TableLoader loader({.task = kClasses, .keeps_keys = true});
  loader.append_rows(std::make_unique<RowsInMemory>(
      std::vector<Column>{{"text", {}}, {"label", {}}},
      std::vector<Row>{{text("a"), text("0")}, {text("b"), text("1")}, {text("c"), text("1.0")}}));
  EXPECT_THAT(loader.finish()->take_keys().strata, ElementsAre(0, 1, 1));
}

TEST(TableParts, FollowEachOther) {
  const ReadTable table =
      joined({{{{"text", {}}, {"label", {}}}, {{text("a"), text("x")}}},
              {{{"label", {}}, {"id", {}}, {"text", {}}}, {{text("w"), integer(1), text("b")}}}});
  EXPECT_THAT(table.texts, ElementsAre("a", "b"));
  EXPECT_THAT(table.labels, ElementsAre("x", "w"));
  EXPECT_THAT(table.label_names, ElementsAre("w", "x"));
}

TEST(TableParts, LabelsAreNumbersIfAllPartsHaveNumbers) {
  const std::vector<Column> columns = {{"text", {}}, {"label", {}}};
  EXPECT_THAT(joined({{columns, {{text("a"), text("10")}}}, {columns, {{text("b"), text("9.0")}}}})
                  .label_names,
              ElementsAre("9", "10"));
  EXPECT_THAT(joined({{columns, {{text("a"), text("9.0")}}}, {columns, {{text("b"), text("x")}}}})
                  .label_names,
              ElementsAre("9.0", "x"));
}

TEST(TableParts, CategoriesKeepTheOrderInWhichTheyCome) {
  const ReadTable table =
      joined({{{{"text", {}}, {"label", {"low", "high"}}}, {{text("a"), text("high")}}},
              {{{"text", {}}, {"label", {"low", "mid"}}},
               {{text("b"), text("mid")}, {text("c"), text("low")}}}});
  EXPECT_THAT(table.label_names, ElementsAre("low", "high", "mid"));
}

TEST(TableParts, MayBeEmptyButNotAll) {
  const std::vector<Column> columns = {{"text", {}}, {"label", {}}};
  EXPECT_EQ(joined({{columns, {}}, {columns, {{text("a"), text("x")}}}}).texts.size(), 1u);
  EXPECT_THAT(
      [&] {
        joined({{columns, {}}, {columns, {}}});
      },
      ThrowsCode(Code::kBadData, "has no rows"));
}

TEST(TableParts, NeedTheSameColumns) {
  const RowsInMemory labelled_part({{"text", {}}, {"label", {}}}, {{text("a"), text("x")}});
  const RowsInMemory bare_part({{"text", {}}}, {{text("a")}});
  EXPECT_THAT(
      [&] {
        joined({labelled_part, {{{"content", {}}, {"label", {}}}, {}}});
      },
      ThrowsCode(Code::kBadData, R"(no column "text", which the first file has)"));
  EXPECT_THAT(
      [&] {
        joined({labelled_part, bare_part}, LabelNeed::kIfPresent);
      },
      ThrowsCode(Code::kBadData, R"(no column "label", which the first file has)"));
  EXPECT_THAT(
      [&] {
        joined({bare_part, labelled_part}, LabelNeed::kIfPresent);
      },
      ThrowsCode(Code::kBadData, R"(a column "label", which the first file lacks)"));
  EXPECT_THAT(joined({bare_part, labelled_part}, LabelNeed::kIgnored).texts, ElementsAre("a", "a"));
  EXPECT_THAT(joined({labelled_part, bare_part}, LabelNeed::kIgnored).texts, ElementsAre("a", "a"));
}

TEST(TableLoader, IgnoredLabelsAndWeightsAreNotRead) {
  const ReadTable table =
      read({{"category", {}}, {"headline", {}}, {"w", {}}},
           {{kMissing, text("a"), integer(-1)}, {Cell(0.5), text("b"), kMissing}},
           {.text = "headline", .label = "category", .weight = "w"}, LabelNeed::kIgnored);
  EXPECT_THAT(table.texts, ElementsAre("a", "b"));
  EXPECT_THAT(table.label_names, IsEmpty());
  EXPECT_FALSE(table.table->labelled);
  EXPECT_EQ(table.table->read(1).weight, 1);
}

TEST(TableLoader, AnIgnoredLabelColumnIsNotTakenAsText) {
  const ReadTable table = read({{"stars", {}}, {"words", {}}}, {{kMissing, text("a")}},
                               {.label = "stars"}, LabelNeed::kIgnored);
  EXPECT_THAT(table.texts, ElementsAre("a"));
}

TEST(LabelDictionary, ClassesAreIndicesIntoTheNames) {
  const ReadTable table = labelled({text("b"), text("a"), text("b")});
  EXPECT_THAT(table.table->labels.classes({"b", "x", "a"}), ElementsAre(0, 2));
}

TEST(LabelDictionary, AForeignLabelIsNamedWithItsRow) {
  const ReadTable table = labelled({text("a"), text("maybe")});
  EXPECT_THAT(
      [&] {
        table.table->labels.classes({"a", "b"});
      },
      ThrowsCode(Code::kBadData, R"(row 1: label "maybe" is not one of "a", "b")"));
}

TEST(BadRows, AreSkippedUpToTheGivenNumber) {
  const std::vector<Column> columns = {{"text", {}}, {"label", {}}};
  const std::vector<Row> rows = {
      {text("a"), text("x")}, {text("b"), kMissing}, {text("c"), text("y")}, {kMissing, text("x")}};
  const auto load = [&](int64_t skip) {
    TableLoader loader({.task = kClasses, .skip_bad_rows = skip});
    loader.append_rows(std::make_unique<RowsInMemory>(columns, rows));
    EXPECT_EQ(loader.skipped_rows(), 2);
    EXPECT_THAT(loader.first_skipped(), testing::HasSubstr("row 1: label \"label\" is missing"));
    return ReadTable(loader);
  };
  const ReadTable table = load(2);
  EXPECT_THAT(table.texts, ElementsAre("a", "c"));
  EXPECT_EQ(table.table->source_row(0), 0u);
  EXPECT_EQ(table.table->source_row(1), 2u);
  EXPECT_THAT([&] { load(1); },
              ThrowsCode(Code::kBadData, "row 3: the cell of column \"text\" is empty"));
}

TEST(BadRows, IncludeRowsWithUnknownLabels) {
  const std::vector<Column> columns = {{"text", {}}, {"label", {}}};
  const std::vector<Row> rows = {
      {text("a"), text("1.0")}, {text("b"), text("-")}, {text("c"), text("x")}};
  const auto load = [&](int64_t skip) {
    TableLoader loader({.task = kClasses, .skip_bad_rows = skip, .known_labels = {"x", "1"}});
    loader.append_rows(std::make_unique<RowsInMemory>(columns, rows));
    return ReadTable(loader);
  };
  const ReadTable table = load(1);
  EXPECT_THAT(table.texts, ElementsAre("a", "c"));
  EXPECT_THAT(table.labels, ElementsAre("1", "x"));
  EXPECT_THAT([&] { load(0); },
              ThrowsCode(Code::kBadData, R"(row 1: label "-" is not one of "x", "1")"));
}

TEST(LabelDictionary, KnownLabelsStayAsTheyAre) {
  LabelDictionary labels;
  labels.restrict_to({"01", "02"});
  labels.entry("02");
  labels.entry(" 01");
  labels.settle();
  EXPECT_THAT(labels.classes({"01", "02"}), ElementsAre(1, 0));
}

TEST(LabelDictionary, ANumberStandsForTheKnownLabelAtItsPlace) {
  LabelDictionary labels;
  labels.restrict_to({"negative", "positive"}, /*by_number=*/true);
  labels.entry("1.0");
  labels.entry("negative");
  labels.settle();
  EXPECT_THAT(labels.classes({"negative", "positive"}), ElementsAre(1, 0));
  EXPECT_TRUE(labels.has_numbers());
  for (const char* other : {"2", "-1", "0.5", "neutral"}) {
    EXPECT_THROW(labels.entry(other), Error) << other;
  }
  // The names are numbers themselves, so no other number can mean one of them.
  LabelDictionary stars;
  LabelDictionary unnamed;
  unnamed.restrict_to({"0", "1"}, /*by_number=*/true);
  unnamed.entry("LABEL_1");
  unnamed.entry("0");
  EXPECT_THROW(unnamed.entry("LABEL_2"), Error);
  unnamed.settle();
  EXPECT_THAT(unnamed.classes({"0", "1"}), ElementsAre(1, 0));
  stars.restrict_to({"1", "2"}, /*by_number=*/true);
  EXPECT_THROW(stars.entry("0"), Error);
}

TEST(LabelDictionary, AKnownLabelMayBeWrittenInAnotherCase) {
  LabelDictionary labels;
  labels.restrict_to({"NEGATIVE", "POSITIVE"});
  labels.entry("positive");
  EXPECT_TRUE(labels.ignores_case());
  EXPECT_THAT(labels.classes({"NEGATIVE", "POSITIVE"}), ElementsAre(1));
  LabelDictionary alike;
  alike.restrict_to({"US", "us"});
  alike.entry("us");
  EXPECT_FALSE(alike.ignores_case());
  EXPECT_THROW(alike.entry("Us"), Error);  // it may be either
}

TEST(LabelDictionary, KnownLabelsMayHaveOtherNames) {
  LabelDictionary labels;
  labels.restrict_to({"bad", "good"}, /*by_number=*/true, {"not_acceptable", "acceptable"}, "ask");
  labels.entry("acceptable");
  labels.entry("bad");
  labels.entry("1");
  EXPECT_THAT(labels.classes({"bad", "good"}), ElementsAre(1, 0, 1));
  LabelDictionary numbered;
  numbered.restrict_to({"bad", "good"}, /*by_number=*/false, {"1", "0"});
  numbered.entry("1.0");
  EXPECT_THAT(numbered.classes({"bad", "good"}), ElementsAre(0));
  LabelDictionary stars;  // "1" may be a name or the place of one
  stars.restrict_to({"1", "2"}, /*by_number=*/false, {"0", "1"});
  EXPECT_THROW(stars.entry("0"), Error);
  try {
    labels.entry("other");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "ask");
  }
}

TEST(LoadTable, EvaluatesRowsWithoutWeightsAsAlike) {
  const auto load = [](bool first_has, bool second_has) {
    TableLoader loader({.task = kClasses, .columns = {.weight = "w", .may_lack_weights = true}});
    for (const bool has : {first_has, second_has}) {
      std::vector<Column> columns = {{"text", {}}, {"label", {}}};
      Row row = {text("a"), text("x")};
      if (has) columns.push_back({"w", {}});
      if (has) row.push_back(Cell(2.0));
      loader.append_rows(std::make_unique<RowsInMemory>(columns, std::vector<Row>{row}));
    }
    const auto table = loader.finish();
    std::string all;
    for (const Finding& found : loader.findings()) all += found.text;
    return std::tuple(table->read(0).weight, table->read(1).weight, all);
  };
  EXPECT_EQ(load(true, true), std::tuple(2.0f, 2.0f, ""));
  EXPECT_EQ(load(false, false),
            std::tuple(1.0f, 1.0f,
                       "there is no column \"w\" (--weight-column), so all rows count alike"));
  EXPECT_THAT([&] { load(true, false); }, ThrowsCode(Code::kBadData, "no column \"w\""));
  EXPECT_THAT([&] { load(false, true); },
              ThrowsCode(Code::kBadData, "a column \"w\", which the first file lacks"));
}

TEST(LabelDictionary, NumbersInPlaceOfLabelsAreToldOf) {
  const auto says = [](const char* label) {
    TableLoader loader({.task = Task::kSequenceClassification,
                        .known_labels = {"negative", "positive"},
                        .labels_by_number = true});
    loader.append_rows(std::make_unique<RowsInMemory>(
        std::vector<Column>{{"text", {}}, {"label", {}}},
        std::vector<Row>{{Cell(std::string("a")), Cell(std::string(label))}}));
    loader.finish();
    std::string all;
    for (const Finding& found : loader.findings()) all += found.text;
    return all;
  };
  EXPECT_EQ(says("1"),
            "numbers in place of labels count these labels, from 0: \"negative\", \"positive\"");
  EXPECT_EQ(says(" positive "), "");
}

TEST(BadRows, ThatStopTheReaderEndTheLoading) {
  class Stuck final : public RowReader {
   public:
    std::span<const Column> columns() const override { return columns_; }
    bool next(Row&) override { throw Error(Code::kBadData, "broken", "line 7"); }
    std::string position() const override { return "line 7"; }

   private:
    const std::vector<Column> columns_ = {{"text", {}}, {"label", {}}};
  };
  TableLoader loader({.task = kClasses, .skip_bad_rows = 1000});
  EXPECT_THAT([&] { loader.append_rows(std::make_unique<Stuck>()); },
              ThrowsCode(Code::kBadData, "line 7: broken"));
}

}  // namespace
}  // namespace berth
