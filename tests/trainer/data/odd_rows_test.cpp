#include "trainer/data/odd_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::HasSubstr;

std::string says(const std::vector<std::string>& texts, bool are_texts = true) {
  OddTexts odd(are_texts);
  for (const std::string& text : texts) odd.add(text);
  std::string all;
  for (const Finding& found : odd.findings("text")) all += found.text + "\n";
  return all;
}

TEST(OddTexts, AreNamedByWhatAProgramHasLeftInThem) {
  EXPECT_THAT(
      says({"Tom &amp; Ida", "fine"}),
      HasSubstr("1 of the first 2 texts of column \"text\", such as \"Tom &amp; Ida\", have "
                "entities of HTML"));
  EXPECT_THAT(says({"it&#39;s"}), HasSubstr("entities of HTML"));
  EXPECT_THAT(says({"caf\xC3\x83\xC2\xA9"}), HasSubstr("read in another encoding"));
  EXPECT_THAT(says({"\xC3\xA2\xE2\x82\xAC\xC5\x93so"}), HasSubstr("read in another encoding"));
  EXPECT_THAT(says({"caf\xEF\xBF\xBD"}), HasSubstr("U+FFFD"));
  EXPECT_THAT(says({"caf\\u00e9"}), HasSubstr("have escapes"));
  EXPECT_THAT(says({"b'a'", "b\"b\"", "b'c'"}), HasSubstr("bytes of Python"));
  EXPECT_THAT(says({"'a'", "'b'", " \"c\""}), HasSubstr("enclosed in quotes that are read, too"));
  EXPECT_THAT(says({"=\"a\"", "=\"b\"", "=\"c\""}), HasSubstr("enclosed in quotes"));
  EXPECT_THAT(says({"1", "2.5", "3"}, /*are_texts=*/false), HasSubstr("--text-column names"));
  EXPECT_THAT(says({"None", "a"}), HasSubstr("missing values"));
}

TEST(OddTexts, AreFewOrNone) {
  EXPECT_EQ(says({"R&D", "a & b;", "&#x;", "S\xC3\xA3o", "\xC3\x82ge", "\\under", "\\u00"}), "");
  EXPECT_EQ(says({"'a'", "b", "'c'"}), "");
  EXPECT_EQ(says({"'a'", "'b'", "'c'", "None"}, /*are_texts=*/false), "");
  std::vector<std::string> many(30, "plain");
  many.push_back("&amp;");
  EXPECT_EQ(says(many), "");
  EXPECT_EQ(says({}), "");
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
