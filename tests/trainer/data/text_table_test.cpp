#include "trainer/data/text_table.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/rows_in_memory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Cell kMissing;

Cell text(const std::string& value) { return value; }
Cell integer(int64_t value) { return value; }

TextTable read(std::vector<Column> columns, std::vector<Row> rows, const ColumnChoice& choice = {},
               LabelNeed need = LabelNeed::kRequired) {
  RowsInMemory reader(std::move(columns), std::move(rows));
  return read_text_table(reader, choice, need);
}

// A table of these labels, each with some text.
TextTable labelled(const std::vector<Cell>& labels, std::vector<std::string> categories = {}) {
  std::vector<Row> rows;
  for (const Cell& label : labels) rows.push_back({text("some text"), label});
  return read({{"text", {}}, {"label", std::move(categories)}}, std::move(rows));
}

TEST(TextTable, KeepsTheFilesOrder) {
  const TextTable table =
      read({{"id", {}}, {"text", {}}, {"label", {}}}, {{integer(1), text("b"), text("x")},
                                                       {integer(2), text("a"), text("y")},
                                                       {integer(3), text("b"), text("x")}});
  EXPECT_THAT(table.texts, ElementsAre("b", "a", "b"));
  EXPECT_THAT(table.labels, ElementsAre("x", "y", "x"));
  EXPECT_THAT(table.pairs, IsEmpty());
  EXPECT_EQ(table.rows(), 3u);
  EXPECT_EQ(table.columns.text, "text");
  EXPECT_EQ(table.columns.label, "label");
  EXPECT_EQ(table.columns.text_pair, "");
}

TEST(TextTable, OneRowIsATable) {
  const TextTable table = labelled({text("only")});
  EXPECT_THAT(table.label_names, ElementsAre("only"));
}

TEST(TextTable, HasASecondTextForEveryRow) {
  const TextTable table =
      read({{"premise", {}}, {"hypothesis", {}}}, {{text("p"), text("h")}, {text("q"), text("")}},
           {}, LabelNeed::kIfPresent);
  EXPECT_THAT(table.texts, ElementsAre("p", "q"));
  EXPECT_THAT(table.pairs, ElementsAre("h", ""));
  EXPECT_THAT(table.labels, IsEmpty());
  EXPECT_THAT(table.label_names, IsEmpty());
}

TEST(TextTable, AnEmptyTextIsOneAndAMissingTextIsNot) {
  EXPECT_THAT(read({{"text", {}}}, {{text("")}}, {}, LabelNeed::kIfPresent).texts, ElementsAre(""));
  EXPECT_THAT(
      [] {
        read({{"text", {}}}, {{text("a")}, {kMissing}}, {}, LabelNeed::kIfPresent);
      },
      ThrowsCode(Code::kBadData, "row 1: column \"text\" is missing"));
}

TEST(TextTable, ANumberIsTakenAsText) {
  const TextTable table =
      read({{"text", {}}}, {{integer(-7)}, {Cell(2.5)}, {Cell(true)}}, {}, LabelNeed::kIfPresent);
  EXPECT_THAT(table.texts, ElementsAre("-7", "2.5", "True"));
}

TEST(TextTable, NamesAreSorted) {
  EXPECT_THAT(labelled({text("pos"), text("neg"), text("pos"), text("Zero")}).label_names,
              ElementsAre("Zero", "neg", "pos"));
}

TEST(TextTable, IntegersGoByValue) {
  EXPECT_THAT(labelled({integer(10), integer(9), integer(-1), integer(10)}).label_names,
              ElementsAre("-1", "9", "10"));
}

TEST(TextTable, IntegersOfATextFileGoByValueToo) {
  const TextTable table = labelled({text("10"), text("9"), text("2")});
  EXPECT_THAT(table.label_names, ElementsAre("2", "9", "10"));
  EXPECT_THAT(table.labels, ElementsAre("10", "9", "2"));
}

TEST(TextTable, WholeFloatsAreIntegers) {
  EXPECT_THAT(labelled({Cell(1.0), Cell(0.0), Cell(-0.0)}).label_names, ElementsAre("0", "1"));
  EXPECT_THAT(labelled({text("1.0"), text("0.0"), text("1")}).label_names, ElementsAre("0", "1"));
}

TEST(TextTable, LargeIntegersStayApart) {
  const int64_t large = 1'000'000'000'000'000'001;
  EXPECT_THAT(labelled({integer(large + 1), integer(large)}).label_names,
              ElementsAre("1000000000000000001", "1000000000000000002"));
  EXPECT_THAT(labelled({text("12345678901234567890123"), text("12345678901234567890124")}).labels,
              ElementsAre("12345678901234567890123", "12345678901234567890124"));
}

TEST(TextTable, CategoriesKeepTheirOrderAndUnusedOnesGo) {
  EXPECT_THAT(labelled({text("mid"), text("low"), text("high")}, {"low", "mid", "high", "never"})
                  .label_names,
              ElementsAre("low", "mid", "high"));
}

TEST(TextTable, BooleansAreFalseAndTrue) {
  EXPECT_THAT(labelled({Cell(true), Cell(false)}).label_names, ElementsAre("False", "True"));
}

TEST(TextTable, AMissingLabelIsNamedByItsRow) {
  for (const Cell& missing :
       {kMissing, text(""), text("nan"), Cell(std::numeric_limits<double>::quiet_NaN())}) {
    EXPECT_THAT(
        [&] {
          labelled({text("a"), text("b"), missing});
        },
        ThrowsCode(Code::kBadData, "row 2: label \"label\" is missing"));
  }
}

TEST(TextTable, FractionsAreNoClasses) {
  EXPECT_THAT(
      [] {
        labelled({integer(1), Cell(0.5)});
      },
      ThrowsCode(Code::kBadData, "row 1: label 0.5 is not a class"));
  EXPECT_THAT([] { labelled({text("1"), text("2.25")}); }, ThrowsCode(Code::kBadData, "fraction"));
  EXPECT_THAT(labelled({text("v1.5"), text("2.25")}).label_names, ElementsAre("2.25", "v1.5"));
}

TEST(TextTable, WordsThatReadAsNumbersAreWords) {
  EXPECT_THAT(labelled({text("inf"), text("1")}).label_names, ElementsAre("1", "inf"));
}

TEST(TextTable, ATableWithoutRowsIsRefused) {
  EXPECT_THAT([] { labelled({}); }, ThrowsCode(Code::kBadData, "has no rows"));
}

// Tables that are read as one.
TextTable joined(std::vector<RowsInMemory> parts, LabelNeed need = LabelNeed::kRequired) {
  TextTableReader table({}, need);
  for (RowsInMemory& part : parts) table.append(part);
  return table.finish();
}

TEST(TextTableParts, FollowEachOther) {
  const TextTable table =
      joined({{{{"text", {}}, {"label", {}}}, {{text("a"), text("x")}}},
              {{{"label", {}}, {"id", {}}, {"text", {}}}, {{text("w"), integer(1), text("b")}}}});
  EXPECT_THAT(table.texts, ElementsAre("a", "b"));
  EXPECT_THAT(table.labels, ElementsAre("x", "w"));
  EXPECT_THAT(table.label_names, ElementsAre("w", "x"));
}

TEST(TextTableParts, LabelsAreNumbersWhenTheyAreSoEverywhere) {
  const std::vector<Column> columns = {{"text", {}}, {"label", {}}};
  EXPECT_THAT(joined({{columns, {{text("a"), text("10")}}}, {columns, {{text("b"), text("9.0")}}}})
                  .label_names,
              ElementsAre("9", "10"));
  EXPECT_THAT(joined({{columns, {{text("a"), text("9.0")}}}, {columns, {{text("b"), text("x")}}}})
                  .label_names,
              ElementsAre("9.0", "x"));
}

TEST(TextTableParts, CategoriesKeepTheOrderInWhichTheyCome) {
  const TextTable table =
      joined({{{{"text", {}}, {"label", {"low", "high"}}}, {{text("a"), text("high")}}},
              {{{"text", {}}, {"label", {"low", "mid"}}},
               {{text("b"), text("mid")}, {text("c"), text("low")}}}});
  EXPECT_THAT(table.label_names, ElementsAre("low", "high", "mid"));
}

TEST(TextTableParts, MayBeEmptyButNotAll) {
  const std::vector<Column> columns = {{"text", {}}, {"label", {}}};
  EXPECT_EQ(joined({{columns, {}}, {columns, {{text("a"), text("x")}}}}).rows(), 1u);
  EXPECT_THAT(
      [&] {
        joined({{columns, {}}, {columns, {}}});
      },
      ThrowsCode(Code::kBadData, "has no rows"));
}

TEST(TextTableParts, NeedTheSameColumns) {
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
}

TEST(LabelIds, AreIndicesIntoTheNames) {
  const TextTable table = labelled({text("b"), text("a"), text("b")});
  EXPECT_THAT(label_ids(table, {"b", "x", "a"}), ElementsAre(0, 2, 0));
}

TEST(LabelIds, AForeignLabelIsNamedWithItsRow) {
  const TextTable table = labelled({text("a"), text("maybe")});
  EXPECT_THAT(
      [&] {
        label_ids(table, {"a", "b"});
      },
      ThrowsCode(Code::kBadData, R"(row 1: label "maybe" is not one of "a", "b")"));
}

}  // namespace
}  // namespace berth
