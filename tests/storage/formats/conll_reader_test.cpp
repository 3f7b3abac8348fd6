#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/formats/row_readers.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Reads every row. Its cells become texts.
std::vector<std::vector<std::string>> rows_of(RowReader& reader) {
  std::vector<std::vector<std::string>> rows;
  for (Row row; reader.next(row);) {
    rows.emplace_back();
    for (const Cell& cell : row) rows.back().push_back(std::get<std::string>(cell));
  }
  return rows;
}

std::vector<std::vector<std::string>> read_words(std::string_view text) {
  const auto reader = make_conll_reader(std::make_unique<MemorySource>(as_bytes(text)));
  return rows_of(*reader);
}

TEST(ConllReader, ABlankLineEndsASentence) {
  EXPECT_THAT(read_words("EU B-ORG\nrejects O\n\n\nPeter B-PER\n"),
              ElementsAre(ElementsAre(R"(["EU","rejects"])", R"(["B-ORG","O"])"),
                          ElementsAre(R"(["Peter"])", R"(["B-PER"])")));
  EXPECT_THAT(read_words("a O\r\n \t\r\nb O"), SizeIs(2));
}

TEST(ConllReader, TheFirstFieldIsTheWordAndTheLastItsTag) {
  EXPECT_THAT(read_words("EU NNP I-NP B-ORG\n"),
              ElementsAre(ElementsAre(R"(["EU"])", R"(["B-ORG"])")));
  EXPECT_THAT(read_words("New York\tB-LOC\n"),
              ElementsAre(ElementsAre(R"(["New York"])", R"(["B-LOC"])")));
  EXPECT_THAT(read_words("\"\tO\n"), ElementsAre(ElementsAre(R"(["\""])", R"(["O"])")));
}

TEST(ConllReader, WordsAloneHaveNoTags) {
  EXPECT_THAT(read_words("EU\nrejects\n"), ElementsAre(ElementsAre(R"(["EU","rejects"])")));
}

TEST(ConllReader, IgnoredTagsMayBeMissingFromSomeLines) {
  const auto reader = make_conll_reader(
      std::make_unique<MemorySource>(as_bytes("a O\nb\nc X O\n\nd O\n")), WordTags::kIgnored);
  EXPECT_EQ(reader->columns().size(), 1u);
  EXPECT_THAT(rows_of(*reader),
              ElementsAre(ElementsAre(R"(["a","b","c"])"), ElementsAre(R"(["d"])")));
}

TEST(ConllReader, DocumentMarkersAreNoSentences) {
  EXPECT_THAT(read_words("-DOCSTART- -X- -X- O\n\nEU NNP I-NP B-ORG\n"), SizeIs(1));
}

TEST(ConllReader, ALineOfAnotherWidthIsNamedAndItsSentenceIsSkipped) {
  const auto reader =
      make_conll_reader(std::make_unique<MemorySource>(as_bytes("a O\n\nb\nc O\n\nd O\n")));
  Row row;
  EXPECT_TRUE(reader->next(row));
  EXPECT_THAT([&] { reader->next(row); },
              ThrowsCode(Code::kBadData, "line 3: has 1 field, but the lines before it have 2"));
  EXPECT_TRUE(reader->next(row));
  EXPECT_EQ(std::get<std::string>(row[0]), R"(["d"])");
  EXPECT_EQ(reader->position(), "line 6");
}

TEST(ConllReader, AFileWithoutSentencesIsBadData) {
  EXPECT_THAT([] { read_words("\n\n"); }, ThrowsCode(Code::kBadData, "is empty"));
}

TEST(ConllReader, ASentenceWithoutEndIsBadData) {
  std::string text = "a\n\n";
  for (int i = 0; i < 100'001; ++i) text += "a\n";
  EXPECT_THAT([&] { read_words(text); },
              ThrowsCode(Code::kBadData, "line 3: a sentence of more than 100000 words"));
}

TEST(HeadlessTsv, ColumnsAreNumbered) {
  const auto reader = make_headless_tsv_reader(
      std::make_unique<MemorySource>(as_bytes("gj04\t1\t\tA b.\nx\t0\t*\tc\n")));
  ASSERT_THAT(reader->columns(), SizeIs(4));
  EXPECT_EQ(reader->columns()[3].name, "3");
  Row row;
  ASSERT_TRUE(reader->next(row));
  EXPECT_EQ(std::get<std::string>(row[3]), "A b.");
  ASSERT_TRUE(reader->next(row));
  EXPECT_EQ(std::get<std::string>(row[0]), "x");
  EXPECT_FALSE(reader->next(row));
}

}  // namespace
}  // namespace berth
