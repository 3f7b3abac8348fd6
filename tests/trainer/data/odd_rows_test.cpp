#include "trainer/data/odd_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::HasSubstr;

std::string says_of(const std::vector<std::string>& texts, bool are_texts = true) {
  OddTexts odd(are_texts);
  for (const std::string& text : texts) odd.add(text);
  std::string all;
  for (const Finding& found : odd.findings("text")) all += found.text + "\n";
  return all;
}

TEST(OddTexts, AreNamedByWhatAProgramHasLeftInThem) {
  EXPECT_THAT(
      says_of({"Tom &amp; Ida", "fine"}),
      HasSubstr("1 of the first 2 texts of column \"text\", such as \"Tom &amp; Ida\", have "
                "entities of HTML"));
  EXPECT_THAT(says_of({"it&#39;s"}), HasSubstr("entities of HTML"));
  EXPECT_THAT(says_of({"caf\xC3\x83\xC2\xA9"}), HasSubstr("read in another encoding"));
  EXPECT_THAT(says_of({"\xC3\xA2\xE2\x82\xAC\xC5\x93so"}), HasSubstr("read in another encoding"));
  EXPECT_THAT(says_of({"caf\xEF\xBF\xBD"}), HasSubstr("U+FFFD"));
  EXPECT_THAT(says_of({"caf\\u00e9"}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({"b'a'", "b\"b\"", "b'c'"}), HasSubstr("bytes of Python"));
  EXPECT_THAT(says_of({"'a'", "'b'", " \"c\""}),
              HasSubstr("enclosed in quotes that are read, too"));
  EXPECT_THAT(says_of({"=\"a\"", "=\"b\"", "=\"c\""}), HasSubstr("enclosed in quotes"));
  EXPECT_THAT(says_of({"1", "2.5", "3"}, /*are_texts=*/false), HasSubstr("--text-column names"));
  EXPECT_THAT(says_of({"None", "a"}), HasSubstr("missing values"));
  EXPECT_THAT(says_of({"2024-01-31", "1/2/24", "31.1.2024 12:30"}),
              HasSubstr("are dates or times"));
  EXPECT_THAT(says_of({"2024-01-31T12:30:00.5Z", "2024/1/31", "2024-01-31 00:00:00"},
                      /*are_texts=*/false),
              HasSubstr("are dates or times"));
}

TEST(OddTexts, WithMarksOfOtherProgramsAreNamed) {
  EXPECT_THAT(says_of({"so<br />it was", "fine"}), HasSubstr("have tags of HTML"));
  EXPECT_THAT(says_of({"<P>so</p>"}, /*are_texts=*/false), HasSubstr("have tags of HTML"));
  EXPECT_THAT(says_of({"so\\r\\nit was"}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({"so\\n"}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({"so_x000D_"}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({std::string("so\0", 3)}), HasSubstr("have control characters"));
  EXPECT_THAT(says_of({"[CLS] so it was [SEP]"}), HasSubstr("have tokens such as [CLS]"));
  EXPECT_THAT(says_of({"so it was</s>"}), HasSubstr("have tokens such as [CLS]"));
  EXPECT_THAT(says_of({"the <unk> was"}), HasSubstr("have tokens such as [CLS]"));
  EXPECT_THAT(says_of({"'@ida so", "'=1+2"}), HasSubstr("begin with an apostrophe"));
  EXPECT_THAT(says_of({"#REF!", "a"}), HasSubstr("missing values"));
  EXPECT_THAT(says_of({"\\N", "a"}), HasSubstr("missing values"));
  EXPECT_EQ(says_of({"1 < 2", "a <bride>", "<b", "C:\\new", "one [SEP] two", "a\tb\f", "'tis so"}),
            "");
}

TEST(OddTexts, ThatOnlyPointToTextsAreNamed) {
  EXPECT_THAT(says_of({"texts/1.txt", "texts/2.txt", "3.txt"}), HasSubstr("are names of files"));
  EXPECT_THAT(says_of({"dGhlIGFscGhhIGlz", "dGhlIGFscGhh1A==", "dGhlIGFscGhhIGlzIGE1"}),
              HasSubstr("are encoded"));
  EXPECT_THAT(says_of({"so%20it", "it%20was", "a%20b"}), HasSubstr("are encoded"));
  EXPECT_THAT(says_of({"[101, 2, 102]", "[101 3 102]", "[1]"}), HasSubstr("are lists of numbers"));
  EXPECT_EQ(says_of({"texts/1.txt", "texts/2.txt", "a text"}), "");
  EXPECT_EQ(says_of({"internationalize", "responsibilities", "misunderstanding"}), "");
  EXPECT_EQ(says_of({"[so]", "[it]", "[]"}), "");
}

TEST(OddTexts, AreFewOrNone) {
  EXPECT_EQ(says_of({"R&D", "a & b;", "&#x;", "S\xC3\xA3o", "\xC3\x82ge", "\\under", "\\u00"}), "");
  EXPECT_EQ(says_of({"'a'", "b", "'c'"}), "");
  EXPECT_EQ(says_of({"2024-01-31", "2024-01-32", "a day"}), "");
  EXPECT_EQ(says_of({"1-2", "3-4-5-6", "1/2", "2024-", "12:30", "2024-01-31 it rained"}), "");
  EXPECT_EQ(says_of({"'a'", "'b'", "'c'", "None"}, /*are_texts=*/false), "");
  std::vector<std::string> many(30, "plain");
  many.push_back("&amp;");
  EXPECT_EQ(says_of(many), "");
  EXPECT_EQ(says_of({}), "");
}

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

TEST(Labels, ThatAreOneNumberOrNoneAreNamed) {
  EXPECT_THAT(said_of({"01", "1", "one"}), HasSubstr("labels \"01\" and \"1\" are one number"));
  EXPECT_EQ(said_of({"1", "2"}), "");
  EXPECT_EQ(said_of({"9007199254740993", "9007199254740992"}), "");
  EXPECT_THAT(said_of({"", "a"}, LabelKind::kSet), HasSubstr("the label \"\" is empty"));
  EXPECT_THAT(said_of({"None", "a"}, LabelKind::kSet), HasSubstr("\"None\" is a label as others"));
  EXPECT_EQ(said_of({"None", "a"}), "");
}

TEST(Labels, ThatAProgramHasChangedAreNamed) {
  EXPECT_THAT(said_of({"1-2", "5-Mar"}), HasSubstr("\"5-Mar\" looks like a date into which a "
                                                   "spreadsheet has turned"));
  EXPECT_THAT(said_of({"Oct-19", "20-29"}), HasSubstr("\"Oct-19\" looks like a date"));
  EXPECT_THAT(said_of({"tensor(0)", "tensor(1)"}), HasSubstr("values as Python shows them"));
  EXPECT_THAT(said_of({"np.int64(0)", "np.int64(1)"}), HasSubstr("values as Python shows them"));
  EXPECT_THAT(said_of({"4.0 out of 5 stars", "1 star"}), HasSubstr("--task regression"));
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
