#include "trainer/data/odd_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace berth {
namespace {

using testing::HasSubstr;

using Labelled = std::vector<std::pair<std::string, std::string>>;

// Thirty rows of two classes.
Labelled usual_rows() {
  Labelled rows;
  for (int i = 0; i < 30; ++i) {
    rows.emplace_back("a text with number " + std::to_string(i), i % 2 == 0 ? "good" : "bad");
  }
  return rows;
}

std::string says(const Labelled& rows, bool are_texts = true) {
  ClassesOfTexts classes(are_texts);
  for (const auto& [text, label] : rows) classes.add({&text, 1}, label);
  std::string all;
  for (const Finding& found : classes.findings()) {
    EXPECT_TRUE(found.is_warning);
    for (const auto& [text, label] : rows) {  // a log without texts has this sentence
      EXPECT_EQ(found.without_texts.find("\"" + text), std::string::npos) << found.without_texts;
    }
    all += found.text + "\n";
  }
  return all;
}

TEST(ClassesOfTexts, UsualRowsBringNoWarning) { EXPECT_EQ(says(usual_rows()), ""); }

TEST(ClassesOfTexts, EqualTextsWithOtherLabelsAreCounted) {
  Labelled rows = usual_rows();
  for (int i = 0; i < 30; i += 3) rows.emplace_back(rows[i].first + " ", "other");
  EXPECT_THAT(says(rows), HasSubstr("10 of the first 40 rows have the text of an earlier row and "
                                    "another label, such as \"a text with number 0 \""));
  rows = usual_rows();
  for (int i = 0; i < 30; i += 3) rows.push_back(rows[i]);  // the same label
  EXPECT_EQ(says(rows), "");
  rows = usual_rows();
  rows.emplace_back(rows[0].first, "bad");  // one of 31
  EXPECT_EQ(says(rows), "");
}

TEST(ClassesOfTexts, CopiesOfRowsAreCounted) {
  Labelled rows = usual_rows();
  const Labelled copies = rows;
  rows.insert(rows.end(), copies.begin(), copies.end());
  EXPECT_THAT(says(rows), HasSubstr("30 of the first 60 rows are copies of an earlier row"));
}

TEST(ClassesOfTexts, AMisspeltLabelIsNamed) {
  Labelled rows;
  for (int i = 0; i < 60; ++i) {
    rows.emplace_back("a text with number " + std::to_string(i), i % 2 == 0 ? "joyful" : "gloomy");
  }
  rows[4].second = "joyfull";
  EXPECT_THAT(says(rows), HasSubstr("the label \"joyfull\" has 1 row, and \"joyful\", which "
                                    "differs in one letter, has 29"));
  rows[4].second = "lively";
  EXPECT_EQ(says(rows), "");
  rows[4].second = "joyful2";
  EXPECT_EQ(says(rows), "");
}

TEST(ClassesOfTexts, TextsThatNameTheirLabelAreNamed) {
  Labelled rows = usual_rows();
  for (auto& [text, label] : rows) text = (label == "good" ? "GOOD: " : "[bad] ") + text;
  EXPECT_THAT(says(rows), HasSubstr("30 of the first 30 texts name their own label, such as "
                                    "\"GOOD: a text with number 0\""));
  for (auto& [text, label] : rows) text = "goodness and badness";
  EXPECT_THAT(says(rows), testing::Not(HasSubstr("name their own label")));
  for (int i = 0; i < 30; ++i) {  // a number may stand anywhere
    rows[i] = {"the year 200" + std::to_string(i % 2) + " and " + std::to_string(i),
               i % 2 == 0 ? "2000" : "2001"};
  }
  EXPECT_THAT(says(rows), testing::Not(HasSubstr("name their own label")));
}

TEST(ClassesOfTexts, ASecondLineOfNamesIsNamed) {
  Labelled rows = usual_rows();
  rows.insert(rows.begin(), {"string", "int"});
  EXPECT_THAT(says(rows), HasSubstr("the first row, \"string\" with the label \"int\", is unlike "
                                    "all others"));
  EXPECT_EQ(says(rows, /*are_texts=*/false), "");
  rows[0] = {"one text of a rare class", "int"};
  EXPECT_EQ(says(rows), "");
  rows[0] = {"short", "good"};
  EXPECT_EQ(says(rows), "");
}

TEST(ClassesOfTexts, ANoteBelowATableIsNamed) {
  Labelled rows = usual_rows();
  rows.emplace_back("exported by a tool", "version 2");
  EXPECT_THAT(says(rows), HasSubstr("the last row, \"exported by a tool\" with the label \"version "
                                    "2\", has a label that no other row has"));
  EXPECT_EQ(says(rows, /*are_texts=*/false), "");
  rows.insert(rows.begin(), {"another text of a rare class", "rare"});
  EXPECT_EQ(says(rows), "");
}

std::string said_of(const std::vector<double>& more, int count, double first, double step) {
  MissingScores scores;
  for (int i = 0; i < count; ++i) scores.add(first + step * i);
  for (const double score : more) scores.add(score);
  const auto found = scores.findings();
  return found.empty() ? "" : found[0].text;
}

TEST(MissingScores, NumbersThatMarkThemAreNamed) {
  EXPECT_THAT(said_of({-999, -999}, 20, 0, 0.25),
              HasSubstr("2 labels are -999, and all others are from 0 to 4.75"));
  EXPECT_THAT(said_of({9999}, 20, 1, 0.2), HasSubstr("1 label is 9999"));
  EXPECT_THAT(said_of({-1}, 20, 0, 0.25), HasSubstr("1 label is -1"));
  EXPECT_THAT(said_of({}, 20, 2.5, 0), HasSubstr("every label is 2.5, which teaches nothing"));
  EXPECT_THAT(said_of({}, 20, -1, 0), HasSubstr("every label is -1, which may mark a missing"));
  EXPECT_EQ(said_of({-1}, 20, 0, 0.05), "");     // cosines
  EXPECT_EQ(said_of({-1}, 20, -0.5, 0.25), "");  // other negative numbers
  EXPECT_EQ(said_of({999}, 20, 100, 100), "");   // near to others
  EXPECT_EQ(said_of({-1, -1}, 20, 1, 0), "");    // two classes
  EXPECT_EQ(said_of({-999}, 10, 0, 0.25), "");   // few rows show nothing
  EXPECT_THAT(said_of({}, 20, 1e9, 1), HasSubstr("fp32 hardly tells them apart"));
  EXPECT_EQ(said_of({}, 20, 1990, 1), "");  // years
  EXPECT_THAT(said_of({1e9}, 20, 0, 0.25), HasSubstr("one score has the size 1e+09, and all others "
                                                     "are at most 4.75"));
  EXPECT_EQ(said_of({1e9, 1e9}, 20, 0, 0.25), "");
}

}  // namespace
}  // namespace berth
