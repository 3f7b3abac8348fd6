#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/rows_in_memory.h"
#include "trainer/data/table_loader.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Cell cell_with(const std::string& value) { return value; }

std::vector<std::string> findings_of(std::vector<Column> columns, std::vector<Row> rows, Task task,
                                     const ColumnChoice& choice = {}) {
  TableLoader loader({.task = task, .columns = choice});
  loader.append_rows(std::make_unique<RowsInMemory>(std::move(columns), std::move(rows)));
  loader.finish();
  std::vector<std::string> texts;
  for (const Finding& found : loader.findings()) texts.push_back(found.text);
  return texts;
}

TEST(UnreadColumns, AreNamedWhereTheySeemToMatter) {
  using testing::HasSubstr;
  EXPECT_THAT(findings_of({{"text", {}}, {"label", {}}, {"split", {}}},
                          {{cell_with("a"), cell_with("x"), cell_with("test")}},
                          Task::kSequenceClassification),
              ElementsAre(HasSubstr("column \"split\" is not read")));
  const std::vector<Column> several = {{"text", {}}, {"intent", {}}, {"sentiment", {}}};
  const std::vector<Row> one = {{cell_with("a"), cell_with("x"), cell_with("y")}};
  EXPECT_THAT(findings_of(several, one, Task::kSequenceClassification),
              ElementsAre(HasSubstr("column \"sentiment\" may hold the labels, too")));
  EXPECT_THAT(findings_of(several, one, Task::kSequenceClassification, {.label = "intent"}),
              IsEmpty());
  EXPECT_THAT(findings_of({{"text", {}}, {"label", {}}, {"sentiment", {}}}, one,
                          Task::kSequenceClassification),
              IsEmpty());
  EXPECT_THAT(findings_of({{"text", {}}, {"label", {}}, {"sample_weight", {}}}, one,
                          Task::kSequenceClassification),
              ElementsAre(HasSubstr("--weight-column reads it")));
  EXPECT_THAT(findings_of({{"query", {}}, {"document", {}}, {"label", {}}},
                          {{cell_with("a"), cell_with("b"), cell_with("x")}},
                          Task::kSequenceClassification),
              ElementsAre(HasSubstr("column \"query\" is not read, as \"document\" is the text")));
  EXPECT_THAT(findings_of({{"text", {}}, {"aspect", {}}, {"label", {}}},
                          {{cell_with("a"), cell_with("b"), cell_with("x")}},
                          Task::kSequenceClassification),
              ElementsAre(HasSubstr("column \"aspect\" is not read, as \"text\" is the text")));
  EXPECT_THAT(findings_of({{"text", {}}, {"text.1", {}}, {"label", {}}},
                          {{cell_with("a"), cell_with("b"), cell_with("x")}},
                          Task::kSequenceClassification),
              ElementsAre(HasSubstr("column \"text.1\" is not read, as \"text\" is the text")));
  EXPECT_THAT(findings_of({{"anchor", {}}, {"positive", {}}, {"alike", {}}},
                          {{cell_with("a"), cell_with("b"), cell_with("0")}}, Task::kSimilarity),
              ElementsAre(HasSubstr("no column has a usual name for scores")));
  EXPECT_THAT(
      findings_of({{"text", {}}, {"label", {}}}, {{cell_with("a"), cell_with("x")}},
                  Task::kSequenceClassification,
                  {.trained = ColumnChoice::Trained{.text = "body", .label = "label"}}),
      ElementsAre("column \"text\" is read as the text; the model was trained on \"body\""));
}

TEST(UnreadColumns, MayHoldScoresOrAnotherSecondText) {
  using testing::HasSubstr;
  const Cell text = cell_with("a"), other = cell_with("b");
  EXPECT_THAT(
      findings_of({{"query_id", {}}, {"query", {}}, {"passage", {}}, {"by", {}}, {"fit", {}}},
                  {{cell_with("7"), text, other, other, cell_with("1")}}, Task::kSimilarity),
      ElementsAre(HasSubstr("column \"fit\" is not read; --label-column")));
  EXPECT_THAT(findings_of({{"query_id", {}}, {"query", {}}, {"passage", {}}},
                          {{cell_with("7"), text, other}}, Task::kSimilarity),
              IsEmpty());
  const std::vector<Column> two = {{"query", {}}, {"passage", {}}, {"answer", {}}, {"label", {}}};
  const std::vector<Row> one = {{text, other, other, cell_with("1")}};
  for (const Task task : {Task::kSimilarity, Task::kReranking}) {
    EXPECT_THAT(
        findings_of(two, one, task),
        ElementsAre(HasSubstr("column \"passage\" is not read, as \"query\" and \"answer\"")));
    EXPECT_THAT(findings_of(two, one, task, {.text = "query", .text_pair = "answer"}), IsEmpty());
  }
}

TEST(UnreadColumns, MayBeTheOtherOneOfTwoTexts) {
  using testing::HasSubstr;
  const std::vector<Row> one = {{cell_with("a"), cell_with("b"), cell_with("x")}};
  const auto says = [&](const char* text, const char* other, const ColumnChoice& choice = {}) {
    return findings_of({{text, {}}, {other, {}}, {"label", {}}}, one, Task::kSequenceClassification,
                       choice);
  };
  EXPECT_THAT(says("premise", "hypo"),
              ElementsAre(HasSubstr("column \"premise\" is by its name one of two texts")));
  EXPECT_THAT(says("premise", "claim"), testing::SizeIs(1));
  EXPECT_THAT(says("premise", "pair_id"), IsEmpty());
  EXPECT_THAT(says("text", "hypo"), IsEmpty());
  EXPECT_THAT(says("premise", "hypo", {.text = "premise"}), IsEmpty());
  EXPECT_THAT(says("text", "Aspect Term"),
              ElementsAre(HasSubstr("column \"Aspect Term\" is not read")));
  EXPECT_THAT(says("text", "context"), ElementsAre(HasSubstr("column \"context\" is not read")));
}

TEST(UnreadColumns, MayBeAContextOfAPair) {
  using testing::HasSubstr;
  const std::vector<Row> one = {{cell_with("a"), cell_with("b"), cell_with("c"), cell_with("x")}};
  EXPECT_THAT(
      findings_of({{"paragraph", {}}, {"question", {}}, {"answer", {}}, {"label", {}}}, one,
                  Task::kSequenceClassification),
      ElementsAre(HasSubstr(
          R"(column "paragraph" is not read, as "question" and "answer" are the texts; write it)")));
  EXPECT_THAT(findings_of({{"word", {}}, {"sentence1", {}}, {"sentence2", {}}, {"label", {}}}, one,
                          Task::kSequenceClassification),
              ElementsAre(HasSubstr("column \"word\" is not read")));
  EXPECT_THAT(findings_of({{"question", {}}, {"passage", {}}, {"title", {}}, {"label", {}}}, one,
                          Task::kSequenceClassification, {.text = "question"}),
              ElementsAre(HasSubstr("column \"passage\" is not read, as \"question\" is the text; "
                                    "--text-pair-column names")));
  EXPECT_THAT(
      findings_of({{"paragraph", {}}, {"question", {}}, {"answer", {}}, {"label", {}}}, one,
                  Task::kSequenceClassification, {.text = "question", .text_pair = "answer"}),
      IsEmpty());
  const Column target{.name = "target", .categories = {}, .is_nested = true};
  EXPECT_THAT(findings_of({{"text", {}}, {"id", {}}, target, {"label", {}}}, one,
                          Task::kSequenceClassification),
              ElementsAre(HasSubstr("column \"target\" is not read")));
}

TEST(UnreadColumns, MayBeAContextOfChoices) {
  using testing::HasSubstr;
  const std::vector<Column> columns = {
      {"question", {}}, {"fact1", {}}, {"choices", {}}, {"answer", {}}};
  const std::vector<Row> one = {
      {cell_with("a"), cell_with("b"), cell_with(R"(["c", "d"])"), cell_with("1")}};
  EXPECT_THAT(findings_of(columns, one, Task::kMultipleChoice),
              ElementsAre(HasSubstr("column \"fact1\" is not read, as \"question\" is the text")));
  EXPECT_THAT(findings_of(columns, one, Task::kMultipleChoice, {.text = "question"}), IsEmpty());
  // Each unread column is named once.
  EXPECT_THAT(
      findings_of(
          {{"context", {}}, {"question", {}}, {"passage", {}}, {"choices", {}}, {"label", {}}},
          {{cell_with("a"), cell_with("b"), cell_with("p"), cell_with(R"(["c", "d"])"),
            cell_with("1")}},
          Task::kMultipleChoice),
      ElementsAre(HasSubstr("column \"passage\" is not read")));
}

TEST(UnreadColumns, PairsOfTextsAreDocumentsOfMaskedTokens) {
  EXPECT_THAT(findings_of({{"sentence1", {}}, {"sentence2", {}}},
                          {{cell_with("a"), cell_with("b")}}, Task::kMaskedLm),
              ElementsAre("both texts of a row are one document"));
}

TEST(UnreadColumns, OtherSpellingsAreNoOtherLabels) {
  const auto says = [](const std::vector<std::string>& second) {
    TableLoader loader({.task = Task::kSequenceClassification});
    const std::vector<Column> columns = {{"text", {}}, {"label", {}}};
    std::string all;
    for (const auto& labels : {std::vector<std::string>{"yes", "no"}, second}) {
      loader.begin_file(/*is_one_of_several=*/true);
      std::vector<Row> rows;
      for (const std::string& label : labels) {
        rows.push_back({cell_with("a text " + label), cell_with(label)});
      }
      loader.append_rows(std::make_unique<RowsInMemory>(columns, std::move(rows)));
      for (const Finding& found : loader.look_at_file()) all += found.text;
    }
    return all;
  };
  EXPECT_THAT(says({"red", "blue"}), testing::HasSubstr("are other labels"));
  EXPECT_EQ(says({"Yes", "No"}), "");
}

TEST(UnreadColumns, MayBeTheTitleOfAPassage) {
  const std::vector<Column> columns = {{"_id", {}}, {"title", {}}, {"text", {}}};
  const std::vector<Row> one = {{cell_with("a"), cell_with("b"), cell_with("x")}};
  EXPECT_THAT(findings_of(columns, one, Task::kTextEmbedding),
              ElementsAre(testing::HasSubstr("a search puts it before the text")));
  EXPECT_THAT(findings_of(columns, one, Task::kTextEmbedding, {.text = "text"}), IsEmpty());
}

TEST(UnreadColumns, WordsOfWikiAnnHaveALanguageBeforeThem) {
  const auto seen = [](const std::string& words) {
    return findings_of({{"tokens", {}}, {"ner_tags", {}}},
                       {{cell_with(words), cell_with("O O O O O O O O O O")}},
                       Task::kTokenClassification);
  };
  EXPECT_THAT(seen("en:a en:b en:c en:d en:e en:f en:g en:h en:i en:j"),
              ElementsAre(testing::HasSubstr("every word begins with \"en:\"")));
  EXPECT_THAT(seen("en:a en:b en:c en:d en:e en:f en:g en:h en:i :)"), IsEmpty());
}

TEST(UnreadColumns, AreOfSplitsByTheirTexts) {
  using testing::HasSubstr;
  const auto says = [](std::vector<std::string> texts, std::optional<Task> task = {}) {
    std::vector<Row> rows;
    for (const std::string& text : texts) {
      rows.push_back({cell_with("a"), cell_with("1"), cell_with(text)});
    }
    TableLoader loader({.task = task});
    loader.append_rows(std::make_unique<RowsInMemory>(
        std::vector<Column>{{"text", {}}, {"label", {}}, {"part", {}}}, std::move(rows)));
    loader.finish();
    std::string all;
    for (const Finding& found : loader.findings()) all += found.text;
    return all;
  };
  EXPECT_THAT(says({"train", "Dev", "test"}), HasSubstr("column \"part\" is not read, so rows of"));
  for (const Task task : {Task::kSequenceClassification, Task::kRegression}) {
    EXPECT_THAT(says({"train", "test"}, task),
                HasSubstr("column \"part\" is not read, so rows of"));
  }
  EXPECT_EQ(says({"train", "train"}), "");
  EXPECT_EQ(says({"train", "body"}), "");
}

TEST(UnreadColumns, MayBeTheLabelsAgain) {
  using testing::HasSubstr;
  const std::vector<Row> one = {{cell_with("a"), cell_with("x"), cell_with("y")}};
  for (const char* name : {"label.1", "Label", "labels", "label_x"}) {
    EXPECT_THAT(
        findings_of({{"text", {}}, {"label", {}}, {name, {}}}, one, Task::kSequenceClassification),
        ElementsAre(HasSubstr("may hold the labels, too, and is not read")))
        << name;
  }
  for (const char* name : {"label_text", "label.", "label.a", "labelled"}) {
    EXPECT_THAT(
        findings_of({{"text", {}}, {"label", {}}, {name, {}}}, one, Task::kSequenceClassification),
        IsEmpty())
        << name;
  }
  const std::vector<Row> words = {{cell_with("a"), cell_with("N"), cell_with("O")}};
  const std::vector<Column> tags = {{"tokens", {}}, {"tags", {}}, {"ner_tags", {}}};
  EXPECT_THAT(findings_of(tags, words, Task::kTokenClassification),
              testing::Contains(HasSubstr("column \"ner_tags\" may hold the tags, too")));
  EXPECT_THAT(findings_of(tags, words, Task::kTokenClassification, {.tags = "ner"}),
              testing::Not(testing::Contains(HasSubstr("may hold the tags, too"))));
}

TEST(UnreadColumns, MayBeTheChoicesOfAQuestion) {
  using testing::HasSubstr;
  const std::vector<Row> one = {{cell_with("a"), cell_with("b"), cell_with("c"), cell_with("0")}};
  EXPECT_THAT(findings_of({{"sentence", {}}, {"ending0", {}}, {"ending1", {}}, {"label", {}}}, one,
                          Task::kSequenceClassification),
              ElementsAre(HasSubstr("column \"ending0\" and 1 column beside it may hold choices")));
  EXPECT_THAT(findings_of({{"sentence", {}}, {"option", {}}, {"option_a", {}}, {"label", {}}}, one,
                          Task::kSequenceClassification),
              IsEmpty());
}

// What is said of a column of texts that has this name.
std::string said_of_name(const std::string& name, const ColumnChoice& choice = {},
                         const std::string& labels = "") {
  TableLoader loader(
      {.task = Task::kSequenceClassification, .columns = choice, .need = LabelNeed::kIgnored});
  std::vector<Column> columns = {{name, {}}};
  Row row = {cell_with("a")};
  if (!labels.empty()) {
    columns.push_back({labels, {}});
    row.push_back(cell_with("b"));
  }
  auto rows = std::make_unique<RowsInMemory>(std::move(columns), std::vector<Row>{row});
  loader.append_rows(std::move(rows));
  loader.finish();
  std::string all;
  for (const Finding& found : loader.findings()) all += found.text;
  return all;
}

TEST(UnreadColumns, AFirstLineThatIsATextIsNamed) {
  using testing::HasSubstr;
  EXPECT_THAT(said_of_name("it was a film"),
              HasSubstr("the first line, \"it was a film\", is read"));
  EXPECT_THAT(said_of_name("12.5"), HasSubstr("the first line, \"12.5\", is read"));
  EXPECT_EQ(said_of_name("comment text"), "");
  EXPECT_EQ(said_of_name("it was a film", {.text = "it was a film"}), "");
  EXPECT_EQ(said_of_name("it was a film", {}, "label"), "");
}

}  // namespace
}  // namespace berth
