#include "storage/formats/lines_reader.h"

#include <gmock/gmock.h>

#include "storage/base/text.h"
#include "storage/formats/row_readers.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> lines_of(std::string_view content,
                                  Malformed malformed = Malformed::kRefused) {
  LinesReader reader(source_of(content), malformed);
  std::vector<std::string> lines;
  for (const Row& row : read_rows(reader)) lines.push_back(std::get<std::string>(row.at(0)));
  return lines;
}

TEST(LinesReader, ALineEndsWithLfCrlfOrTheText) {
  EXPECT_THAT(lines_of("one\ntwo\r\nthree"), ElementsAre("one", "two", "three"));
  EXPECT_THAT(lines_of("one\rtwo\n"), ElementsAre("one\rtwo"));
}

TEST(LinesReader, CrEndsLinesWhereThereIsNoLf) {
  EXPECT_THAT(lines_of("one\r\rtwo\rthree"), ElementsAre("one", "two", "three"));
  EXPECT_THAT(lines_of("one\r"), ElementsAre("one"));
  const std::string late = std::string(size_t{1} << 19, 'x') + "\n";  // beyond what is looked at
  EXPECT_THAT(lines_of("one\r" + late), ElementsAre("one", late));
}

std::string said_of_lines(std::string_view content) {
  LinesReader reader(source_of(content));
  read_rows(reader);
  std::string all;
  for (const Finding& found : reader.findings()) all += found.text;
  return all;
}

TEST(LinesReader, LinesThatRatherAreATableAreNamed) {
  const std::string object = R"({"text": "a"})";
  EXPECT_THAT(said_of_lines(object + "\n" + object + "\n" + object + "\n"),
              testing::HasSubstr("each line is an object of JSON"));
  EXPECT_EQ(said_of_lines(object + "\n" + object + "\nplain\n"), "");
  EXPECT_THAT(said_of_lines("\xEF\xBB\xBFText,label\na,b\n"),
              testing::HasSubstr("the first line seems to have the names of columns"));
  EXPECT_THAT(said_of_lines("text\na\n"), testing::HasSubstr("names of columns"));
  EXPECT_EQ(said_of_lines("a text, label and id\na\n"), "");
  EXPECT_EQ(said_of_lines("a\ntext,label\n"), "");
}

TEST(LabelledLines, MarkedWordsAreLabels) {
  const auto rows =
      make_lines_reader(source_of("\xEF\xBB\xBF__label__a-b one two\n\nthree __label__c\nfour\n"));
  ASSERT_EQ(rows->columns().size(), 2u);
  EXPECT_THAT(read_rows(*rows), ElementsAre(ElementsAre(text("one two"), text("a-b")),
                                            ElementsAre(text("three"), text("c")),
                                            ElementsAre(text("four"), kMissing)));
  EXPECT_EQ(rows->findings().at(0).rule, "labels of fastText");
}

TEST(LabelledLines, SeveralLabelsAreListsInEveryRow) {
  const auto rows = make_lines_reader(source_of("__label__a one\n__label__a __label__b two\n"));
  EXPECT_THAT(read_rows(*rows), ElementsAre(ElementsAre(text("one"), text(R"(["a"])")),
                                            ElementsAre(text("two"), text(R"(["a","b"])"))));
}

TEST(LabelledLines, OtherTextsAreLines) {
  for (const char* lines : {"one __label__a\ntwo\n", "", "\n\n"}) {
    EXPECT_EQ(make_lines_reader(source_of(lines))->columns().size(), 1u) << lines;
  }
}

TEST(Documents, EndAtBlankLines) {
  const auto rows = make_documents_reader(
      source_of("\xEF\xBB\xBF\n \none \r\n two\n\n\t\n__label__a three\n\nfour"));
  ASSERT_EQ(rows->columns().size(), 1u);
  EXPECT_EQ(rows->columns()[0].name, "text");
  EXPECT_THAT(read_rows(*rows),
              ElementsAre(ElementsAre(text("one\ntwo")), ElementsAre(text("__label__a three")),
                          ElementsAre(text("four"))));
  EXPECT_EQ(rows->position(), "line 9");
  EXPECT_THAT(read_rows(*make_documents_reader(source_of("\n\n"))), IsEmpty());
}

// As strip() of Python in create_pretraining_data.py.
TEST(Documents, EndAtBlanksOfUnicode) {
  for (const char* blank : {"\u3000", "\u00A0", "\f", "\v", "\u2003 \u202F", "\x1F"}) {
    EXPECT_THAT(read_rows(*make_documents_reader(source_of(cat("one\n", blank, "\ntwo\n")))),
                ElementsAre(ElementsAre(text("one")), ElementsAre(text("two"))));
  }
  EXPECT_THAT(read_rows(*make_documents_reader(source_of("one\n\u3000two\n\u200B\nthree"))),
              ElementsAre(ElementsAre(text("one\n\u3000two\n\u200B\nthree"))));
}

TEST(Documents, HaveALimit) {
  std::string lines;
  while (lines.size() <= TextLines::kLimitBytes) lines += std::string(size_t{1} << 19, 'x') + "\n";
  const auto rows = make_documents_reader(source_of(lines));
  EXPECT_THAT([&] { read_rows(*rows); }, ThrowsCode(Code::kBadData, "blank line"));
}

TEST(LinesReader, TheByteOrderMarkIsNoTextAtTheBeginning) {
  EXPECT_THAT(lines_of("\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n"),
              ElementsAre("one", "\xEF\xBB\xBFtwo"));
  EXPECT_THAT(lines_of("\xEF\xBB\xBF"), IsEmpty());
}

TEST(LinesReader, BlankLinesAreNoRowsButAreCounted) {
  LinesReader reader(source_of("\n \t\r\none\n\n\ntwo"));
  Row row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(reader.line(), 3u);
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(reader.line(), 6u);
  EXPECT_EQ(reader.position(), "line 6");
  EXPECT_FALSE(reader.next(row));
  EXPECT_THAT(lines_of(""), IsEmpty());
  EXPECT_THAT(lines_of("\n\n"), IsEmpty());
}

TEST(LinesReader, LongLinesAreCutAfterASpaceOrBetweenCharacters) {
  constexpr size_t kPiece = TextLines::kPieceBytes;
  std::string spaced, unspaced;
  while (spaced.size() < 5 * kPiece / 2) spaced += "some words ";
  while (unspaced.size() < 5 * kPiece / 2) unspaced += "\xE2\x82\xAC";
  const std::string content = spaced + "\r\n" + unspaced + "\nend";
  LinesReader reader(source_of(content));
  std::vector<uint64_t> numbers;
  std::string joined;
  for (Row row; reader.next(row);) {
    const auto& text = std::get<std::string>(row.at(0));
    EXPECT_LE(text.size(), kPiece);
    EXPECT_TRUE(numbers.size() >= 2 || text.ends_with(' '));
    joined += text;
    numbers.push_back(reader.line());
  }
  EXPECT_EQ(joined, spaced + unspaced + "end");
  EXPECT_THAT(numbers, ElementsAre(1, 1, 1, 2, 2, 2, 3));
}

TEST(LinesReader, ALineOfTheLongestSizeIsNotCut) {
  const std::string line = "a " + std::string(TextLines::kPieceBytes - 2, 'b');
  EXPECT_THAT(lines_of(line + "\n" + line), ElementsAre(line, line));
  EXPECT_THAT(lines_of(line + "\r\n" + line + "\r\n"), ElementsAre(line, line));
  EXPECT_THAT(lines_of(line + "b\n"), ElementsAre("a ", line.substr(2) + "b"));
}

TEST(LinesReader, WhatIsNotUtf8IsRefusedOrKept) {
  const std::string content = "one\ntw\xFFo\nthree\n";
  LinesReader reader(source_of(content));
  Row row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_THAT([&] { reader.next(row); }, ThrowsCode(Code::kBadData, "line 2: byte 3 is not UTF-8"));
  ASSERT_TRUE(reader.next(row));
  EXPECT_THAT(row, ElementsAre(text("three")));
  EXPECT_THAT(lines_of(content, Malformed::kKept), ElementsAre("one", "tw\xFFo", "three"));
}

}  // namespace
}  // namespace berth
