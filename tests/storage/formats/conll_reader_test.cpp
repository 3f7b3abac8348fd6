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

TEST(ConllReader, AFileOfOneLongSentenceIsNamed) {
  std::string text;
  for (int i = 0; i < 101; ++i) text += "a O\n";
  const auto said_of = [](const std::string& words) {
    const auto reader = make_conll_reader(std::make_unique<MemorySource>(as_bytes(words)));
    rows_of(*reader);
    std::string all;
    for (const Finding& found : reader->findings()) all += found.text;
    return all;
  };
  EXPECT_THAT(said_of(text), testing::HasSubstr("so the 101 words of the file are one"));
  EXPECT_EQ(said_of(text + "\nb O\n"), "");
  EXPECT_EQ(said_of("a O\nb O\n"), "");
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

// The columns of a file, and its rows.
struct ReadFile {
  std::vector<std::string> columns{};
  std::vector<std::vector<std::string>> rows{};
  std::string says{};
};

ReadFile read_file(std::string_view text, const TextForm& form = {}) {
  const auto reader =
      make_conll_reader(std::make_unique<MemorySource>(as_bytes(text)), WordTags::kIfPresent, form);
  ReadFile file;
  for (const Column& column : reader->columns()) file.columns.push_back(column.name);
  file.rows = rows_of(*reader);
  for (const Finding& found : reader->findings()) file.says += found.text + "\n";
  return file;
}

constexpr std::string_view kGermEval =
    "# n-tv.de 2006\n1\tMara\tB-PER\tO\n2\tlebt\tO\tO\n\n# "
    "x\n1\tIn\tO\tO\n2\tLindau\tB-LOC\tB-ORG\n";

TEST(ConllReader, AColumnThatCountsTheWordsIsNoWord) {
  const ReadFile file = read_file(kGermEval);
  EXPECT_THAT(file.columns, ElementsAre("2", "3"));
  EXPECT_THAT(file.rows, ElementsAre(ElementsAre(R"(["Mara","lebt"])", R"(["B-PER","O"])"),
                                     ElementsAre(R"(["In","Lindau"])", R"(["O","B-LOC"])")));
  EXPECT_THAT(file.says,
              testing::HasSubstr("of 4 columns, the word is column 2 and the tag column 3"));
  EXPECT_THAT(file.says, testing::HasSubstr("comments"));
  // Numbers that go on, that begin with 0, and a column that numbers the sentences.
  EXPECT_THAT(read_words("1 a O\n2 b X\n\n3 c O\n4 d O\n")[1],
              ElementsAre(R"(["c","d"])", R"(["O","O"])"));
  EXPECT_THAT(read_words("0 a O\n1 b X\n\n0 c O\n1 d O\n")[1],
              ElementsAre(R"(["c","d"])", R"(["O","O"])"));
  EXPECT_THAT(read_words("7 1 a O\n7 2 b X\n\n8 1 c O\n8 2 d O\n")[1],
              ElementsAre(R"(["c","d"])", R"(["O","O"])"));
}

TEST(ConllReader, OtherNumbersAreWords) {
  EXPECT_THAT(read_words("1 O\n4 O\n\n7 X\n"), SizeIs(2));
  EXPECT_THAT(read_words("1 O\n4 O\n")[0], ElementsAre(R"(["1","4"])", R"(["O","O"])"));
}

TEST(ConllReader, FlagsNameColumnsByTheirNumbers) {
  const ReadFile file = read_file(kGermEval, {.words = "2", .tags = "4"});
  EXPECT_THAT(file.columns, ElementsAre("2", "4"));
  EXPECT_THAT(file.rows[1], ElementsAre(R"(["In","Lindau"])", R"(["O","B-ORG"])"));
  EXPECT_THAT(read_file("a NN B-X\n", {.tags = "2"}).columns, ElementsAre("1", "2"));
  EXPECT_THAT(
      [] { read_file("a NN B-X\n", {.tags = "4"}); },
      ThrowsCode(Code::kBadData, "there is no column 4 (--label-column); the lines have 3"));
}

// conll2003: the last column has the entities, and no column is called for the parts of speech.
TEST(ConllReader, SeveralColumnsOfTagsNeedAChoiceForOtherTags) {
  constexpr std::string_view kText = "EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n";
  EXPECT_THAT(read_file(kText, {.tags = "ner"}).rows[0][1], R"(["B-ORG","O"])");
  EXPECT_THAT([&] { read_file(kText, {.tags = "pos"}); },
              ThrowsCode(Code::kBadData, "has 3 columns that may hold the pos tags"));
  EXPECT_THAT(read_file("EU NNP\n", {.tags = "pos"}).rows[0][1], R"(["NNP"])");
}

TEST(ConllReader, ConlluHasPartsOfSpeechAndLinesThatAreNoWords) {
  const ReadFile file = read_file(
      "# sent_id = 1\n# text = vámonos al mar\n"
      "1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_\n"
      "2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
      "3\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\tSpaceAfter=No\n",
      {.tags = "pos"});
  EXPECT_THAT(file.columns, ElementsAre("2", "4"));
  EXPECT_THAT(file.rows,
              ElementsAre(ElementsAre(R"(["vamos","nos","mar"])", R"(["VERB","PRON","NOUN"])")));
}

TEST(ConllReader, ALastColumnThatSaysNothingIsNoTag) {
  EXPECT_THAT(read_file("a B-X _\nb O _\n").rows[0][1], R"(["B-X","O"])");
  EXPECT_THAT(read_file("a NN O\nb VB O\n").rows[0][1], R"(["O","O"])");
  EXPECT_THAT(read_file("a B-X O\nb O O\n").columns, ElementsAre("1", "2"));
}

// wnut17 and MultiCoNER have such lines; "#" is a word where it has a tag.
TEST(ConllReader, CommentsStandBeforeSentences) {
  EXPECT_THAT(
      read_words("# id 000\tdomain=en\nMara _ _ B-PER\nlives _ _ O\n\n# id 001\tx\nin _ _ O\n"),
      ElementsAre(ElementsAre(R"(["Mara","lives"])", R"(["B-PER","O"])"),
                  ElementsAre(R"(["in"])", R"(["O"])")));
  EXPECT_THAT(read_words("# O\n1 B-X\n\n# one\na O\n# O\n"),
              ElementsAre(ElementsAre(R"(["#","1"])", R"(["O","B-X"])"),
                          ElementsAre(R"(["a","#"])", R"(["O","O"])")));
  EXPECT_THAT(read_words("#\tNN\n#tag\tNN\nb\tNN\n"),
              ElementsAre(ElementsAre(R"(["#","#tag","b"])", testing::_)));
  EXPECT_THAT(read_words("#one\ntwo\n"), ElementsAre(ElementsAre(R"(["#one","two"])")));
  EXPECT_THAT(read_words("# a file\n\nb O\n"), SizeIs(1));
}

// Files that were joined bring their headers.
TEST(ConllReader, AHeaderBetweenSentencesIsNoWord) {
  constexpr std::string_view kFile = "word tag\nIda B-PER\nsings O\n\n";
  const std::string joined = std::string(kFile) + std::string(kFile);
  const auto reader = make_conll_reader(std::make_unique<MemorySource>(as_bytes(joined)));
  EXPECT_THAT(rows_of(*reader), ElementsAre(ElementsAre(R"(["Ida","sings"])", R"(["B-PER","O"])"),
                                            ElementsAre(R"(["Ida","sings"])", R"(["B-PER","O"])")));
  EXPECT_EQ(reader->findings().back().rule, "headers between rows are left out");
  EXPECT_THAT(reader->findings().back().text, testing::HasSubstr("again on line 5"));
}

}  // namespace
}  // namespace berth
