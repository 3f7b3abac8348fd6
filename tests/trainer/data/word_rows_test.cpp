#include "trainer/data/word_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rows_in_memory.h"
#include "tests/support/throws_code.h"
#include "trainer/data/table_loader.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Cell kUnfilled;
Cell row_id(int64_t number) { return number; }

// The sentences of a table, each as "word/TAG word/TAG", and what the loader says.
struct ReadWords {
  std::vector<std::string> sentences{};
  std::string says{};
};

ReadWords read_word_rows(const std::vector<std::string>& columns, const std::vector<Row>& rows,
                         LoadRules rules = {}) {
  TableLoader loader(std::move(rules));
  std::vector<Column> named;
  for (const std::string& name : columns) named.push_back({name, {}});
  loader.append_rows(std::make_unique<RowsInMemory>(named, rows));
  const auto table = loader.finish();
  ReadWords result;
  for (uint32_t row = 0; row < table->rows(); ++row) {
    const Example example = table->read(row);
    std::string& sentence = result.sentences.emplace_back();
    for (size_t i = 0; i < example.texts.size(); ++i) {
      sentence += (i == 0 ? "" : " ") + example.texts[i];
      if (i < example.labels.size()) sentence += "/" + table->labels.name_of(example.labels[i]);
    }
  }
  for (const Finding& found : loader.findings()) result.says += found.text + "\n";
  return result;
}

const std::vector<Row> kById = {{row_id(0), "mara", "B-PER"},
                                {row_id(0), "[", "O"},
                                {row_id(1), "in", "O"},
                                {row_id(1), "lindau", "B-LOC"},
                                {row_id(2), "so", "O"}};

TEST(WordRows, OneIdIsOneSentence) {
  for (const char* name : {"sentence_id", "Sentence #", "sentence", "sent_id", "SentenceID"}) {
    const ReadWords words = read_word_rows({name, "words", "labels"}, kById);
    EXPECT_THAT(words.sentences, ElementsAre("mara/B-PER [/O", "in/O lindau/B-LOC", "so/O"))
        << name;
    EXPECT_THAT(words.says, HasSubstr("says where a sentence ends"));
  }
  // A column of texts has words if the tags are of words, the user names the sentences, or a tagger
  // reads them.
  const auto sentences = ElementsAre("mara/B-PER [/O", "in/O lindau/B-LOC", "so/O");
  EXPECT_THAT(read_word_rows({"sentence_id", "text", "label"}, kById).sentences, sentences);
  EXPECT_THAT(
      read_word_rows({"group", "text", "label"}, kById, {.sentence_column = "group"}).sentences,
      sentences);
  const LoadRules tagger{.task = Task::kTokenClassification, .need = LabelNeed::kIgnored};
  EXPECT_THAT(read_word_rows({"sentence_id", "text", "other"}, kById, tagger).sentences,
              ElementsAre("mara [", "in lindau", "so"));
}

// The data set of Kaggle's "Annotated Corpus for Named Entity Recognition" is laid out so.
TEST(WordRows, AnIdMayStandInTheFirstRowOfASentenceAlone) {
  const std::vector<Row> rows = {{"Sentence: 1", "mara", "NNP", "B-PER"},
                                 {kUnfilled, "lives", "VB", "O"},
                                 {"Sentence: 2", "so", "RB", "O"},
                                 {"", "what", "WP", "O"}};
  EXPECT_THAT(read_word_rows({"Sentence #", "Word", "POS", "Tag"}, rows).sentences,
              ElementsAre("mara/B-PER lives/O", "so/O what/O"));
  LoadRules rules{.task = Task::kTokenClassification, .columns = {.tags = "pos"}};
  EXPECT_THAT(read_word_rows({"Sentence #", "Word", "POS", "Tag"}, rows, rules).sentences,
              ElementsAre("mara/NNP lives/VB", "so/RB what/WP"));
}

// As write.csv() of R writes it, and to_csv(na_rep="NULL") of pandas.
TEST(WordRows, AnIdMayBeMissingAsPandasAndRWriteIt) {
  for (const char* missing : {"NA", "NaN", "NULL", "None"}) {
    const std::vector<Row> rows = {{"Sentence: 1", "mara", "B-PER"},
                                   {missing, "NA", "O"},
                                   {"Sentence: 2", "so", "O"},
                                   {missing, "null", "O"}};
    EXPECT_THAT(read_word_rows({"Sentence #", "Word", "Tag"}, rows).sentences,
                ElementsAre("mara/B-PER NA/O", "so/O null/O"))
        << missing;
  }
}

TEST(WordRows, TextsOfOneWordAreWordsWhereIdsOfSentencesRepeat) {
  const std::vector<Row> rows = {{"Sentence: 1", "mara", "PER"},
                                 {"", "lives", "O"},
                                 {"Sentence: 2", "so", "O"},
                                 {"", "what", "O"}};
  EXPECT_THAT(read_word_rows({"Sentence #", "text", "label"}, rows).sentences,
              ElementsAre("mara/PER lives/O", "so/O what/O"));
  // The rows of one text are no sentence.
  const std::vector<Row> texts = {{row_id(1), "so it goes", "a"}, {row_id(1), "or not", "b"}};
  EXPECT_EQ(read_word_rows({"sentence_id", "text", "label"}, texts).sentences.size(), 2u);
  const std::vector<Row> words = {{"a bank of a river", "bank", "a"},
                                  {"a bank of a river", "river", "b"}};
  EXPECT_EQ(read_word_rows({"sentence", "text", "label"}, words).sentences.size(), 2u);
}

TEST(WordRows, AFewWordsMayBeSeveral) {
  for (const char* odd : {"[1]", "New York", "10 000"}) {
    std::vector<Row> rows;
    for (int64_t i = 0; i < 12; ++i) {
      rows.push_back({row_id(i / 2), i == 3 ? odd : "mara", i == 3 ? "OTHER" : "B-PER"});
    }
    const std::string sentence = "mara/B-PER " + std::string(odd) + "/OTHER";
    EXPECT_EQ(read_word_rows({"sentence_id", "word", "label"}, rows).sentences.at(1), sentence);
    EXPECT_THAT(
        [&] {
          read_word_rows({"other", "word", "label"}, rows);
        },
        ThrowsCode(Code::kBadData, "each row has one word, and no column says which sentence"));
  }
}

TEST(WordRows, AFlagNamesTheColumn) {
  LoadRules rules{.task = Task::kTokenClassification, .sentence_column = "utt"};
  EXPECT_THAT(read_word_rows({"utt", "words", "labels"}, kById, rules).sentences.size(), 3u);
  rules.sentence_column = "none";
  EXPECT_THAT(read_word_rows({"sentence_id", "words", "labels"}, kById, rules).sentences.size(),
              5u);
  rules.sentence_column = "absent";
  EXPECT_THAT(
      [&] {
        read_word_rows({"sentence_id", "words", "labels"}, kById, rules);
      },
      ThrowsCode(Code::kBadData, "there is no column \"absent\" (--sentence-column)"));
}

TEST(WordRows, SentencesWithIdsAreSentences) {
  const std::vector<Row> rows = {{row_id(0), "['a', 'b']", "['X', 'Y']"},
                                 {row_id(1), "['c']", "['X']"}};
  EXPECT_THAT(
      read_word_rows({"sentence_id", "words", "labels"}, rows, {.task = Task::kTokenClassification})
          .sentences,
      ElementsAre("a/X b/Y", "c/X"));
}

TEST(WordRows, AMissingWordNamesItsRowAndLeavesItsSentenceOut) {
  std::vector<Row> rows = kById;
  rows[1][1] = kUnfilled;
  EXPECT_THAT(
      [&] {
        read_word_rows({"sentence_id", "words", "labels"}, rows);
      },
      ThrowsCode(Code::kBadData, "row 1: the cell of column \"words\" is empty"));
  EXPECT_THAT(
      read_word_rows({"sentence_id", "words", "labels"}, rows, {.skip_bad_rows = 1}).sentences,
      ElementsAre("in/O lindau/B-LOC", "so/O"));
}

TEST(WordRows, ScatteredSentencesAndLonelyWordsAreToldOf) {
  std::vector<Row> rows = kById;
  rows.push_back({row_id(0), "left", "O"});
  EXPECT_THAT(read_word_rows({"sentence_id", "words", "labels"}, rows).says,
              HasSubstr("scattered"));
  const std::vector<Row> alone(12, Row{"word", "O"});
  EXPECT_THAT(
      read_word_rows({"words", "labels"}, alone, {.task = Task::kTokenClassification}).says,
      HasSubstr("every sentence has one word; where each row has a word, --sentence-column"));
}

// What a table says that is read as one word a row although nothing says where sentences end.
TEST(WordRows, WordsWithoutSentencesAreRefused) {
  const std::vector<Row> alone = {{"mara", "B-PER"}, {"lives", "O"}, {kUnfilled, kUnfilled}};
  for (const LoadRules& rules : {LoadRules{}, LoadRules{.task = Task::kTokenClassification}}) {
    for (const char* name : {"word", "tokens", "text"}) {
      EXPECT_THAT(
          [&] {
            read_word_rows({name, "label"}, alone, rules);
          },
          ThrowsCode(Code::kBadData, "each row has one word, and no column says which sentence"));
    }
  }
  EXPECT_THAT(read_word_rows({"word", "label"}, {{"mara", "B-PER"}, {"so", "O"}},
                             {.task = Task::kTokenClassification, .sentence_column = "none"})
                  .sentences,
              ElementsAre("mara/B-PER", "so/O"));
  EXPECT_THAT(read_word_rows({"text", "label"}, {{"mara lives", "B-PER O"}, {"so", "O"}},
                             {.task = Task::kTokenClassification})
                  .sentences,
              ElementsAre("mara/B-PER lives/O", "so/O"));
}

TEST(WordRows, NumbersOfSentencesMayBeginAnewInEachDocument) {
  const std::vector<Row> rows = {{"a", row_id(0), "mara", "B-PER"}, {"a", row_id(0), "so", "O"},
                                 {"b", row_id(0), "in", "O"},       {"b", row_id(1), "x", "O"},
                                 {"c", row_id(1), "y", "O"},        {"c", row_id(1), "z", "O"}};
  const ReadWords words = read_word_rows({"doc_id", "sent_id", "token", "ner"}, rows);
  EXPECT_THAT(words.sentences, ElementsAre("mara/B-PER so/O", "in/O", "x/O", "y/O z/O"));
  EXPECT_THAT(words.says, HasSubstr("a new value of column \"doc_id\" begins a sentence"));
  EXPECT_THAT(words.says, testing::Not(HasSubstr("scattered")));
}

TEST(WordRows, OurPredictionsAreSuchATable) {
  const std::vector<Row> rows = {{row_id(0), row_id(0), "B-PER", "0.9", "mara"},
                                 {row_id(0), row_id(1), "O", "0.8", "lives"},
                                 {row_id(1), row_id(0), "O", "0.7", "so"}};
  const LoadRules rules{.task = Task::kTokenClassification, .columns = {.label = "prediction"}};
  EXPECT_THAT(read_word_rows({"sentence", "word", "prediction", "probability", "text"}, rows, rules)
                  .sentences,
              ElementsAre("mara/B-PER lives/O", "so/O"));
  EXPECT_THAT(
      [&] {
        read_word_rows({"sentence", "word", "prediction", "probability", "x"}, rows, rules);
      },
      ThrowsCode(Code::kBadData, "column \"word\" has the numbers of words, and no column"));
}

}  // namespace
}  // namespace berth
