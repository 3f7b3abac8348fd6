#include <gtest/gtest.h>

#include "trainer/data/cell_text.h"

namespace berth {
namespace {

TEST(NumberForm, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_number("1234.5", {}), 1234.5);
  EXPECT_EQ(parse_number(" -1e3 ", {}), -1000);
  EXPECT_EQ(parse_number("1,234,567.5", {.thousands = ','}), 1234567.5);
  EXPECT_EQ(parse_number("987", {.thousands = ','}), 987);
  EXPECT_EQ(parse_number("1.234,5", {.decimal = ',', .thousands = '.'}), 1234.5);
  EXPECT_EQ(parse_number("-0,5", {.decimal = ','}), -0.5);
  EXPECT_EQ(parse_number("12 345,5", {.decimal = ',', .thousands = ' '}), 12345.5);
  EXPECT_EQ(parse_number("7,5%", {.decimal = ',', .unit = "%"}), 7.5);
}

TEST(NumberForm, AccountantsWriteNegativesInParenthesesOrWithAMinusBehind) {
  EXPECT_EQ(parse_number("(1.5)", {}), -1.5);
  EXPECT_EQ(parse_number(" ( 12 ) ", {}), -12);
  EXPECT_EQ(parse_number("(1.234,50)", {.decimal = ',', .thousands = '.'}), -1234.5);
  EXPECT_EQ(parse_number("($2.50)", {.unit = "$"}), -2.5);
  EXPECT_EQ(parse_number("$(2.50)", {.unit = "$"}), -2.5);
  EXPECT_EQ(parse_number("1.5-", {}), -1.5);
  EXPECT_EQ(parse_number("1,5-", {.decimal = ','}), -1.5);
  for (const char* text : {"2-", "-1.5-", "(1.5-)", "((1.5))", "-(1.5)", "()", "(", "-", "1.-5"}) {
    EXPECT_EQ(parse_number(text, {}), std::nullopt) << text;
  }
}

TEST(NumberForm, RefusesOtherForms) {
  for (const char* text : {"", "x", "inf", "nan", "1,5", "1 5", "5 stars", "--1", "- "}) {
    EXPECT_EQ(parse_number(text, {}), std::nullopt) << text;
  }
  for (const char* text : {"12,34", "0,123", "1234,567", "1,2345", ",123", "1,234,56", "1.234,5"}) {
    EXPECT_EQ(parse_number(text, {.thousands = ','}), std::nullopt) << text;
  }
  EXPECT_EQ(parse_number("0.5", {.decimal = ','}), std::nullopt);
  EXPECT_EQ(parse_number("5%", {}), std::nullopt);
  EXPECT_EQ(parse_number("5", {.unit = "%"}), std::nullopt);
}

TEST(NumberForm, OfAColumnIsTheSimplestThatReadsTheMostCells) {
  const auto found = [](std::vector<Cell> cells) {
    std::vector<Row> rows;
    for (Cell& cell : cells) rows.push_back({std::move(cell)});
    return find_numbers(rows, 0, /*are_texts=*/true);
  };
  EXPECT_EQ(found({"1.234", "2"}).form, NumberForm{});
  EXPECT_EQ(found({"0,125", "1,234"}).form, NumberForm{.decimal = ','});
  EXPECT_TRUE(found({"1,234", "12,500"}).is_ambiguous);
  EXPECT_FALSE(found({"1,234,567", "1,234"}).is_ambiguous);
  const NumbersFound mixed = found({"2.5", 3.0, int64_t{4}, "NA", "odd"});
  EXPECT_EQ(mixed.cells, 4u);
  EXPECT_EQ(mixed.numbers, 3u);
  EXPECT_EQ(mixed.fractions, 1u);
  EXPECT_EQ(mixed.other, "odd");
  EXPECT_FALSE(mixed.are_all());
  EXPECT_TRUE(mixed.are_most());
}

TEST(PlainText, NumbersKeepTheirDigits) {
  EXPECT_EQ(plain_text(Cell(1234567.0)), "1234567");
  EXPECT_EQ(plain_text(Cell(-1234567890123.0)), "-1234567890123");
  EXPECT_EQ(plain_text(Cell(1234567.25)), "1234567.25");
  EXPECT_EQ(plain_text(Cell(0.1)), "0.1");
  EXPECT_EQ(plain_text(Cell(3.0)), "3");
  EXPECT_EQ(plain_text(Cell(1152921504606846976.0)), "1152921504606846976");
  EXPECT_EQ(plain_text(Cell(int64_t{1234567})), "1234567");
  EXPECT_EQ(plain_text(Cell()), std::nullopt);
}

TEST(MissingText, IsWhatProgramsWriteForIt) {
  EXPECT_EQ(who_means_missing(" NA"), "pandas");
  EXPECT_EQ(who_means_missing("\\N"), "MySQL, PostgreSQL and Hive");
  EXPECT_EQ(who_means_missing("#DIV/0!"), "spreadsheets");
  EXPECT_EQ(who_means_missing("none"), "");
  EXPECT_TRUE(is_missing(Cell("#REF!"), /*are_texts=*/true));
  EXPECT_FALSE(is_missing(Cell("#REF!"), /*are_texts=*/false));
}

}  // namespace
}  // namespace berth
