#include "trainer/data/odd_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::HasSubstr;

TEST(Labels, ThatAreDatesAreNamed) {
  const auto found = look_at_names({"2024-01-31", "2024-02-29"}, LabelKind::kClass);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, HasSubstr("each label is a date, such as \"2024-01-31\""));
  EXPECT_TRUE(look_at_names({"2024-01-31", "later"}, LabelKind::kClass).empty());
}

std::string said_of(const std::vector<std::string>& names, LabelKind kind = LabelKind::kClass) {
  std::string all;
  for (const Finding& found : look_at_names(names, kind)) all += found.text + "\n";
  return all;
}

TEST(Labels, OfASetWithTheMarkBetweenPredictionsAreNamed) {
  EXPECT_THAT(said_of({"a|b", "c"}, LabelKind::kSet),
              HasSubstr("the label \"a|b\" has a '|', which separates labels in predictions"));
  EXPECT_THAT(said_of({"a|b", "c"}), testing::Not(HasSubstr("in predictions")));
}

TEST(Labels, ThatAreOneNumberOrNoneAreNamed) {
  EXPECT_THAT(said_of({"01", "1", "one"}), HasSubstr("labels \"01\" and \"1\" are one number"));
  EXPECT_EQ(said_of({"1", "2"}), "");
  EXPECT_EQ(said_of({"9007199254740993", "9007199254740992"}), "");
  EXPECT_THAT(said_of({"", "a"}, LabelKind::kSet), HasSubstr("the label \"\" is empty"));
  EXPECT_THAT(said_of({"None", "a"}, LabelKind::kSet), HasSubstr("\"None\" is a label as others"));
  EXPECT_EQ(said_of({"None", "a"}), "");
  EXPECT_THAT(said_of({"0", "1", "99"}), HasSubstr("the label \"99\" is a class beside 0 to 1"));
  EXPECT_EQ(said_of({"0", "1", "-1"}), "");
  EXPECT_EQ(said_of({"50", "99"}), "");
}

TEST(Labels, ThatLookAlikeAreNamed) {
  const auto alike = HasSubstr("differ only in case, blanks");
  EXPECT_THAT(said_of({"non-toxic", "non\u2013toxic"}), alike);
  EXPECT_THAT(said_of({"don't", "don\u2019t"}), alike);
  EXPECT_THAT(said_of({"Stra\u00DFe", "STRASSE"}), alike);
  EXPECT_THAT(said_of({"\u0130yi", "iyi"}), alike);
  EXPECT_THAT(said_of({"Y", "N", "yes"}), HasSubstr("labels \"y\" and \"yes\" may mean the same"));
  EXPECT_EQ(said_of({"Y", "N"}), "");
}

TEST(Labels, ThatAreNoNamesAreNamed) {
  EXPECT_THAT(said_of({"missing", "a"}), HasSubstr("stands for a missing value"));
  EXPECT_THAT(said_of({"(blank)", "a"}), HasSubstr("stands for a missing value"));
  EXPECT_THAT(said_of({"null", "a"}), HasSubstr("stands for a missing value"));
  EXPECT_THAT(said_of({"=IF(A2>3,\"a\",\"b\")", "a"}), HasSubstr("is a formula"));
  EXPECT_THAT(said_of({"R&amp;D", "HR"}), HasSubstr("has an entity of HTML"));
  EXPECT_THAT(said_of({"caf\u00C3\u00A9", "tea"}), HasSubstr("read in another encoding"));
  EXPECT_THAT(said_of({"a\nb", "c"}), HasSubstr("has a line break or a tab"));
  EXPECT_THAT(said_of({"a|b", "a"}), HasSubstr("although '|' separates labels"));
  EXPECT_THAT(said_of({"false", "SE", "DK"}), HasSubstr("stands beside names such as \"SE\""));
  EXPECT_THAT(said_of({"__label__a", "__label__b"}), HasSubstr("the mark of fastText"));
  EXPECT_THAT(said_of({"b'a'", "b'b'"}), HasSubstr("values as Python shows them"));
  EXPECT_THAT(said_of({"<Label.POS: 1>", "<Label.NEG: 0>"}), HasSubstr("as Python shows them"));
  EXPECT_THAT(said_of({"so it was and so it will be for ever",
                       "he sang all the songs that he knew "
                       "by heart that day"}),
              HasSubstr("are whole sentences"));
  EXPECT_EQ(said_of({"True", "False"}), "");
  EXPECT_EQ(said_of({"true", "false", "half-true"}), "");
  EXPECT_THAT(said_of({"|", "a", "b"}), testing::Not(HasSubstr("separates labels")));
}

TEST(Labels, ThatAreNumbersOtherwiseAreNamed) {
  const auto said = [](const std::vector<std::string>& names) {
    std::string all;
    for (const Finding& found : look_at_names(names, LabelKind::kClass)) all += found.text + "\n";
    return all;
  };
  EXPECT_THAT(said({"\u0661\u066B\u0665", "\u0662"}), testing::HasSubstr("digits are not 0 to 9"));
  EXPECT_THAT(said({"\uFF11\uFF0E\uFF15", "\uFF12"}), testing::HasSubstr("digits are not 0 to 9"));
  EXPECT_THAT(said({"1.5kg", "2kg", "3kg"}), testing::HasSubstr("written without the unit"));
  EXPECT_THAT(said({"1 h", "2 h", "3 h"}), testing::HasSubstr("written without the unit"));
  EXPECT_THAT(said({"4/5", "1/5"}), testing::HasSubstr("written as 0.8"));
  EXPECT_THAT(said({"4.5/5", "1/5"}), testing::HasSubstr("written as 0.8"));
  EXPECT_THAT(said({"~1.5", "~2"}), testing::HasSubstr("written as 4.5"));
  EXPECT_THAT(said({"1.5±0.1", "2 ± 0.2"}), testing::HasSubstr("written as 4.5"));
  EXPECT_EQ(said({"~a", "~b"}), "");
  EXPECT_EQ(said({"1990s", "2000s", "2010s"}), "");
  EXPECT_EQ(said({"1 cat", "2 dogs", "3 birds"}), "");
}

TEST(Labels, ThatAProgramHasChangedAreNamed) {
  EXPECT_THAT(said_of({"1-2", "5-Mar"}), HasSubstr("\"5-Mar\" looks like a date into which a "
                                                   "spreadsheet has turned"));
  EXPECT_THAT(said_of({"Oct-19", "20-29"}), HasSubstr("\"Oct-19\" looks like a date"));
  EXPECT_THAT(said_of({"tensor(0)", "tensor(1)"}), HasSubstr("values as Python shows them"));
  EXPECT_THAT(said_of({"np.int64(0)", "np.int64(1)"}), HasSubstr("values as Python shows them"));
  EXPECT_THAT(said_of({"4.0 out of 5 stars", "1 star"}), HasSubstr("--task regression"));
  EXPECT_THAT(said_of({"0 of 5", "4 of 5"}), HasSubstr("--task regression"));
  EXPECT_THAT(said_of({"\xE2\x98\x85", "\xE2\x98\x85\xE2\x98\x86"}),
              HasSubstr("--task regression"));
  EXPECT_THAT(said_of({std::string("a\0", 2), "b"}), HasSubstr("has a control character"));
  EXPECT_THAT(said_of({std::string("B-PER\0", 6), "O"}, LabelKind::kTagPerWord),
              HasSubstr("has a control character"));
  EXPECT_EQ(said_of({"20-29", "30-39", "Mar-a", "may", "f(x)", "4 points", "out of 5"}), "");
}

TEST(SourceScales, SourcesOfAnotherScaleAreNamed) {
  SourceScales scales;
  for (int i = 0; i < 20; ++i) {
    scales.add("sts", 0.25 * i);
    scales.add("sick", 0.2 * i);
    scales.add("quora", 0.05 * i);
    scales.add(std::nullopt, 100.0 * i);
  }
  const auto found = scales.findings("origin");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, HasSubstr("the scores of \"quora\" in column \"origin\" go up to "
                                       "0.95, and the scores of \"sick\" up to 3.8"));
  SourceScales alike;
  for (int i = 0; i < 20; ++i) alike.add(i % 2 == 0 ? "a" : "b", 0.25 * i);
  EXPECT_TRUE(alike.findings("origin").empty());
}

// What is found after a row for each of the labels, which are numbers, and one for the last row.
std::vector<Finding> found(const std::vector<double>& numbers, std::string_view text,
                           std::string_view label, std::optional<double> number) {
  TotalRow rows;
  for (const double each : numbers) rows.add("a text", std::to_string(each), each);
  rows.add(text, label, number);
  return rows.findings("line 9");
}

TEST(TotalRow, IsFoundByItsName) {
  const std::vector<double> marks = {0, 1, 0, 1, 1, 0};
  for (const char* name :
       {"Total", "TOTAL:", " Summe ", "Gesamtergebnis", "Total général", "Итого", "合計"}) {
    EXPECT_EQ(found(marks, name, "7", 7).size(), 1u) << name;
    EXPECT_EQ(found(marks, "x", name, {}).size(), 1u) << name;
  }
  EXPECT_NE(found(marks, "Total", "7", 7)[0].text.find("line 9"), std::string::npos);
  EXPECT_TRUE(found(marks, "Total loss", "1", 1).empty());
  EXPECT_TRUE(found({0, 1}, "Total", "1", 1).empty()) << "few rows";
}

TEST(TotalRow, IsFoundByTheSumOfTheLabels) {
  EXPECT_EQ(found({1, 2, 3, 1, 2, 3}, "all", "12", 12).size(), 1u);
  EXPECT_EQ(found({0.5, 1.25, 2, 0.25, 1, 1}, "-", "6", 6).size(), 1u);
  EXPECT_TRUE(found({0, 0, 1, 0, 0, 0}, "a text", "1", 1).empty()) << "a class";
  EXPECT_TRUE(found({1, 2, 3, 1, 2, 3}, "a text", "11", 11).empty());
  EXPECT_TRUE(found({0, 0, 0, 0, 0, 0}, "a text", "0", 0).empty());
}

}  // namespace
}  // namespace berth
