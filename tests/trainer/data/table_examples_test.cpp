#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/text.h"
#include "tests/support/rows_in_memory.h"
#include "tests/support/throws_code.h"
#include "trainer/data/table_loader.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Cell text_cell(const std::string& value) { return value; }
Cell whole_cell(int64_t value) { return value; }

// The first example of a table of one row, read for `task`.
Example one(Task task, std::vector<Column> columns, Row row, const ColumnChoice& choice = {}) {
  TableLoader loader({.task = task, .columns = choice});
  loader.append_rows(
      std::make_unique<RowsInMemory>(std::move(columns), std::vector<Row>{std::move(row)}));
  return loader.finish()->read(0);
}

TEST(Tasks, ScoresAreNumbers) {
  const std::vector<Column> columns = {{"text", {}}, {"score", {}}};
  EXPECT_EQ(one(Task::kRegression, columns, {text_cell("a"), text_cell("2.25")}).score, 2.25f);
  EXPECT_EQ(one(Task::kRegression, columns, {text_cell("a"), whole_cell(-3)}).score, -3);
  EXPECT_EQ(one(Task::kRegression, columns, {text_cell("a"), text_cell(" 1.5")}).score, 1.5f);
  EXPECT_EQ(one(Task::kRegression, columns, {text_cell("a"), text_cell("+2")}).score, 2);
  for (const Cell& cell : {text_cell("many"), text_cell("inf"), text_cell("+-1"), text_cell("+"),
                           text_cell("1e39"), text_cell("-1e200")}) {
    EXPECT_THAT(
        [&] {
          one(Task::kRegression, columns, {text_cell("a"), cell});
        },
        ThrowsCode(Code::kBadData,
                   "row 0: column \"score\": \"" + std::get<std::string>(cell) + "\""));
  }
  EXPECT_THAT(
      [&] {
        one(Task::kRegression, columns, {text_cell("a"), Cell()});
      },
      ThrowsCode(Code::kBadData, "row 0: label \"score\" is missing"));
}

TEST(Tasks, AColumnOfTimestampsIsRefusedAsOne) {
  const auto refusal = ThrowsCode(Code::kBadData, "column \"when\" holds timestamps");
  const std::vector<Column> columns = {{"text", {}}, {"when", {}, "timestamps"}};
  for (const Task task : {kDefaultTask, Task::kRegression, Task::kMultiLabel}) {
    EXPECT_THAT([&] { one(task, columns, {text_cell("a"), Cell()}, {.label = "when"}); }, refusal);
  }
  EXPECT_THAT(
      [&] {
        one(kDefaultTask, columns, {whole_cell(1), Cell()}, {.text = "when", .label = "text"});
      },
      refusal);
}

TEST(Tasks, SeveralLabelsAreAListOrJoinedOrColumns) {
  const std::vector<Column> columns = {{"text", {}}, {"labels", {}}};
  for (const char* cell : {R"(["x","y"])", "['x', 'y']", "x|y", "x,y", " x, y"}) {
    EXPECT_THAT(one(Task::kMultiLabel, columns, {text_cell("a"), text_cell(cell)}).labels,
                ElementsAre(0, 1));
  }
  EXPECT_THAT(one(Task::kMultiLabel, columns, {text_cell("a"), Cell()}).labels, IsEmpty());
  for (const char* cell : {R"(["x",null])", "['x', None]", "['x", "{\"x\":1}"}) {
    EXPECT_THAT(
        [&] {
          one(Task::kMultiLabel, columns, {text_cell("a"), text_cell(cell)});
        },
        ThrowsCode(Code::kBadData, "row 0: column \"labels\": "));
  }
  const std::vector<Column> marks = {{"text", {}}, {"rude", {}}, {"kind", {}}};
  EXPECT_THAT(one(Task::kMultiLabel, marks, {text_cell("a"), whole_cell(0), text_cell("1")},
                  {.label = "rude,kind"})
                  .labels,
              ElementsAre(0));
  EXPECT_THAT(
      [&] {
        one(Task::kMultiLabel, marks, {text_cell("a"), whole_cell(2), text_cell("1")},
            {.label = "rude,kind"});
      },
      ThrowsCode(Code::kBadData, "row 0: column \"rude\" holds neither 0 nor 1"));
}

TEST(Tasks, WordsHaveATagEach) {
  const std::vector<Column> columns = {{"tokens", {}}, {"ner_tags", {}}};
  const Example example = one(Task::kTokenClassification, columns,
                              {text_cell(R"(["New York","is"])"), text_cell(R"(["B",0])")});
  EXPECT_THAT(example.texts, ElementsAre("New York", "is"));
  EXPECT_THAT(example.labels, ElementsAre(0, 1));
  EXPECT_THAT(
      one(Task::kTokenClassification, columns, {text_cell("['a', 'b']"), text_cell("['X' 'Y']")})
          .texts,
      ElementsAre("a", "b"));
  EXPECT_THAT(
      one(Task::kTokenClassification, columns, {text_cell("[ a ] b"), text_cell("O X O O")}).texts,
      ElementsAre("[", "a", "]", "b"));
  EXPECT_THAT(
      [&] {
        one(Task::kTokenClassification, columns, {text_cell("['a', None]"), text_cell("X Y")});
      },
      ThrowsCode(Code::kBadData, "row 0: column \"tokens\": "));
  EXPECT_THAT(one(Task::kTokenClassification, columns, {text_cell("a b"), text_cell("X Y")}).texts,
              ElementsAre("a", "b"));
  EXPECT_THAT(
      [&] {
        one(Task::kTokenClassification, columns, {text_cell("a b"), text_cell("X")});
      },
      ThrowsCode(Code::kBadData, "row 0: 2 words, but 1 tag"));
}

TEST(Tasks, WordsAndTagsMayBeTuplesArraysOrJoined) {
  const std::vector<Column> columns = {{"tokens", {}}, {"ner_tags", {}}};
  const auto read = [&](const char* words, const char* tags) {
    TableLoader loader({.task = Task::kTokenClassification});
    loader.append_rows(std::make_unique<RowsInMemory>(
        columns, std::vector<Row>{{text_cell(words), text_cell(tags)}}));
    const auto table = loader.finish();
    const Example example = table->read(0);
    std::string all;
    for (size_t i = 0; i < example.texts.size(); ++i) {
      all += cat(example.texts[i], "/", table->labels.name_of(example.labels[i]), " ");
    }
    for (const Finding& found : loader.findings()) all += cat("[", found.rule, "]");
    return all;
  };
  EXPECT_EQ(read("array(['a', 'b'], dtype=object)", "array(['O', 'B-X'])"),
            "a/O b/B-X [tuples of words]");
  EXPECT_EQ(read("('a', 'b')", "(3, 5)"), "a/3 b/5 [tuples of words]");
  EXPECT_EQ(read("a b", "O, B-X"), "a/O b/B-X [joined tags]");
  EXPECT_EQ(read("a b", "O;B-X"), "a/O b/B-X [joined tags]");
  EXPECT_EQ(read("(1, 2)", ", ."), "(1,/, 2)/. ");
}

TEST(Tasks, AnswersAreOffsetsAndTexts) {
  const std::vector<Column> columns = {
      {"id", {}}, {"question", {}}, {"context", {}}, {"answers", {}}};
  const Example example = one(Task::kQuestionAnswering, columns,
                              {text_cell("q7"), text_cell("who?"), text_cell("it was me"),
                               text_cell(R"({"text": ["me"], "answer_start": [7]})")});
  EXPECT_EQ(example.id, "q7");
  EXPECT_THAT(example.texts, ElementsAre("who?", "it was me"));
  EXPECT_EQ(example.answers, (std::vector<Answer>{{"me", 7}}));
  for (const char* same :
       {R"([{"text": "me", "answer_start": 7}])", "{'text': ['me'], 'answer_start': [7]}",
        "[{'text': 'me', 'answer_start': 7}]",
        "{'text': array(['me'], dtype=object), 'answer_start': array([7], "
        "dtype=int32)}"}) {
    const Example read =
        one(Task::kQuestionAnswering, columns,
            {text_cell("7"), text_cell("who?"), text_cell("it was me"), text_cell(same)});
    EXPECT_EQ(read.answers, (std::vector<Answer>{{"me", 7}})) << same;
  }
  for (const char* bad :
       {"me", "{}", R"([{"text": "me"}])", R"({"text": ["me"]})",
        R"({"text": ["a"], "answer_start": []})", R"({"text": ["a"], "answer_start": [-1]})",
        R"({"text": ["c"], "answer_start": [4294967296]})"}) {
    EXPECT_THAT(
        [&] {
          one(Task::kQuestionAnswering, columns,
              {text_cell("q"), text_cell("w"), text_cell("c"), text_cell(bad)});
        },
        ThrowsCode(Code::kBadData, "row 0"));
  }
}

TEST(Tasks, BlanksAroundAnAnswerAreNoPartOfIt) {
  const auto read = [](const std::string& context, const std::string& answer) {
    return one(Task::kQuestionAnswering, {{"question", {}}, {"context", {}}, {"answers", {}}},
               {text_cell("who?"), text_cell(context), text_cell(answer)})
        .answers;
  };
  EXPECT_EQ(read("it was me.", R"({"text": [" me"], "answer_start": [6]})"),
            (std::vector<Answer>{{"me", 7}}));
  EXPECT_EQ(read("it was me \n", R"({"text": ["me \n"], "answer_start": [7]})"),
            (std::vector<Answer>{{"me", 7}}));
  EXPECT_EQ(
      read("it\xC2\xA0\xE2\x80\x8Bme", R"({"text": ["\u00a0\u200bme"], "answer_start": [2]})"),
      (std::vector<Answer>{{"me", 4}}));
  EXPECT_THAT([&] { read("it was", R"({"text": [" "], "answer_start": [2]})"); },
              ThrowsCode(Code::kBadData, "an answer is empty"));
}

TEST(Tasks, TagsOfTokensThatAreIgnoredAreRefused) {
  const std::vector<Column> columns = {{"tokens", {}}, {"labels", {}}};
  EXPECT_THAT(
      [&] {
        one(Task::kTokenClassification, columns,
            {text_cell("['a', '##b']"), text_cell("[1, -100]")});
      },
      ThrowsCode(Code::kBadData, "row 0: has the tag -100"));
}

TEST(Tasks, AnAnswerWithoutAPlaceIsNamed) {
  EXPECT_THAT(
      [] {
        one(Task::kQuestionAnswering, {{"question", {}}, {"context", {}}, {"answers", {}}},
            {text_cell("w"), text_cell("c"),
             text_cell(R"({"text": ["c"], "answer_start": [-1]})")});
      },
      ThrowsCode(Code::kBadData, "row 0: answer 0 begins at -1, so its place is not known"));
}

TEST(Tasks, AQuestionMayNotHaveAnAnswerAndHaveNone) {
  const auto read = [](const char* name, const Cell& cell, const char* answers) {
    return one(Task::kQuestionAnswering,
               {{"question", {}}, {"context", {}}, {"answers", {}}, {name, {}}},
               {text_cell("who?"), text_cell("it was me"),
                answers == nullptr ? Cell() : text_cell(answers), cell});
  };
  constexpr const char* kMe = R"({"text": ["me"], "answer_start": [7]})";
  constexpr const char* kNobody = R"({"text": [], "answer_start": []})";
  for (const auto& [name, says_none, says_one] :
       {std::tuple("is_impossible", "True", "False"), std::tuple("has_answer", "false", "true"),
        std::tuple("answerable", "0", "1"), std::tuple("no_answer", "1.0", "no")}) {
    EXPECT_THAT([&] { read(name, text_cell(says_none), kMe); },
                ThrowsCode(Code::kBadData, "says that it has none"))
        << name;
    EXPECT_EQ(read(name, text_cell(says_one), kMe).answers.size(), 1u) << name;
    EXPECT_EQ(read(name, text_cell(says_none), kNobody).answers.size(), 0u) << name;
    EXPECT_EQ(
        read(name, text_cell(says_none), R"([{"text": "", "answer_start": 0}])").answers.size(), 0u)
        << name;
    EXPECT_EQ(read(name, text_cell(says_none), nullptr).answers.size(), 0u) << name;
    EXPECT_THAT([&] { read(name, text_cell(says_one), nullptr); },
                ThrowsCode(Code::kBadData, "write [] for a question without an answer"))
        << name;
    EXPECT_EQ(read(name, text_cell("perhaps"), kMe).answers.size(), 1u) << name;
    EXPECT_EQ(read(name, Cell(), kMe).answers.size(), 1u) << name;
  }
}

TEST(Tasks, WordsAndTagsMayNotChangePlaces) {
  const auto load = [](const char* words, const char* tags) {
    TableLoader loader({.task = Task::kTokenClassification});
    std::vector<Row> rows(5, Row{text_cell(words), text_cell(tags)});
    loader.append_rows(std::make_unique<RowsInMemory>(
        std::vector<Column>{{"tokens", {}}, {"ner_tags", {}}}, std::move(rows)));
    return loader.finish()->rows();
  };
  EXPECT_THAT(
      [&] { load(R"(["O", "B-PER", "I-PER", "O"])", R"(["said", "Ada", "Byron", "then"])"); },
      ThrowsCode(Code::kBadData,
                 "column \"tokens\" holds tags, and column \"ner_tags\" the words"));
  EXPECT_EQ(load("said Ada Byron then", "O B-PER I-PER O"), 5u);
  EXPECT_EQ(load("O O O O", "O B-PER I-PER O"), 5u);  // a letter is a word
}

TEST(Tasks, RecordsOfArgillaAreNamed) {
  EXPECT_THAT(
      [] {
        one(kDefaultTask, {{"id", {}}, {"fields", {}}, {"responses", {}}},
            {text_cell("1"), text_cell("{}"), text_cell("[]")});
      },
      ThrowsCode(Code::kBadData, "are records of Argilla"));
}

TEST(Tasks, AnAnswerMayBeAloneAndNeedsNoPlaceInAnEvaluation) {
  const std::vector<Column> columns = {{"question", {}}, {"context", {}}, {"answer", {}}};
  const auto read = [&](const std::string& answer, AnswerPlaces places) {
    auto rows = std::make_unique<RowsInMemory>(
        columns, std::vector<Row>{{text_cell("who?"), text_cell("it was me"), text_cell(answer)}});
    const auto reader = make_table_examples(
        std::move(rows), find_columns(columns, {}, LabelNeed::kRequired, Task::kQuestionAnswering),
        Task::kQuestionAnswering, {}, places);
    Example example;
    LabelDictionary labels;
    reader->next(example, labels);
    return example.answers.at(0).text;
  };
  EXPECT_EQ(read(R"({"text": "me", "answer_start": 7})", AnswerPlaces::kExact), "me");
  EXPECT_EQ(read("me", AnswerPlaces::kAny), "me");
  EXPECT_EQ(read("1874", AnswerPlaces::kAny), "1874");
  EXPECT_EQ(read(R"({"text": ["me"], "answer_start": [7.0]})", AnswerPlaces::kExact), "me");
  for (const char* answers :
       {R"({"text": ["me"], "answer_start": [-1]})", R"(["me"])",
        R"({"text": ["me"], "answer_start": []})", R"({"text": ["me"], "answer_start": ["x"]})",
        R"([{"text": "me", "answer_start": -1}])"}) {
    EXPECT_EQ(read(answers, AnswerPlaces::kAny), "me") << answers;
    EXPECT_THAT([&] { read(answers, AnswerPlaces::kExact); }, ThrowsCode(Code::kBadData, "row 0"));
  }
  EXPECT_THAT([&] { read("me", AnswerPlaces::kExact); }, ThrowsCode(Code::kBadData, "row 0"));
}

TEST(Tasks, AnAnswerMayHaveAColumnForItsPlace) {
  const auto read = [](const Cell& words, const Cell& place, const char* name = "answer_text") {
    const std::vector<Column> columns = {
        {"question", {}}, {"context", {}}, {name, {}}, {"answer_start", {}}};
    return one(Task::kQuestionAnswering, columns,
               {text_cell("who?"), text_cell("it was me"), words, place})
        .answers;
  };
  const std::vector<Answer> me = {{"me", 7}};
  EXPECT_EQ(read(text_cell("me"), text_cell("7")), me);
  EXPECT_EQ(read(text_cell("me"), Cell(7.0), "answer"), me);
  EXPECT_EQ(read(text_cell("['me']"), text_cell("[7]")), me);
  EXPECT_EQ(read(text_cell(R"([{"text": "me", "answer_start": 7}])"), text_cell("3")), me);
  EXPECT_TRUE(read(text_cell(""), text_cell("-1")).empty());
  for (const char* place : {"", "-1", "7.5", "x", "[7]"}) {
    EXPECT_THAT([&] { read(text_cell("me"), text_cell(place)); },
                ThrowsCode(Code::kBadData, "row 0"))
        << place;
  }
}

TEST(Tasks, AWeightIsNotBelowZero) {
  const std::vector<Column> columns = {{"text", {}}, {"label", {}}, {"w", {}}};
  EXPECT_EQ(one(Task::kSequenceClassification, columns, {text_cell("a"), text_cell("x"), Cell(0.5)},
                {.weight = "w"})
                .weight,
            0.5f);
  EXPECT_THAT(
      [&] {
        one(Task::kSequenceClassification, columns, {text_cell("a"), text_cell("x"), Cell(-0.5)},
            {.weight = "w"});
      },
      ThrowsCode(Code::kBadData, "row 0: weight \"w\""));
  EXPECT_THAT(
      [&] {
        one(Task::kSequenceClassification, columns, {text_cell("a"), text_cell("x"), Cell(1e39)},
            {.weight = "w"});
      },
      ThrowsCode(Code::kBadData, "row 0: column \"w\": \"1e+39\" is too large for fp32"));
}

// A row to predict keeps its place.
TEST(Tasks, ASentenceToPredictMayHaveNoWords) {
  const std::vector<Column> columns = {{"tokens", {}}};
  const std::vector<Row> rows = {{text_cell("[]")}, {text_cell(R"(["a"])")}, {Cell()}};
  LoadRules rules{.task = Task::kTokenClassification, .need = LabelNeed::kIgnored};
  EXPECT_THAT(
      [&] { TableLoader(rules).append_rows(std::make_unique<RowsInMemory>(columns, rows)); },
      ThrowsCode(Code::kBadData, "row 0: the sentence has no words"));
  rules.keeps_missing_texts = true;
  TableLoader loader(rules);
  loader.append_rows(std::make_unique<RowsInMemory>(columns, rows));
  const auto table = loader.finish();
  ASSERT_EQ(table->rows(), 3u);
  EXPECT_THAT(table->read(0).texts, IsEmpty());
  EXPECT_THAT(table->read(1).texts, ElementsAre("a"));
}

// Prodigy's.
TEST(Tasks, RowsThatAnAnnotatorRefusedAreLeftOut) {
  const std::vector<Column> columns = {{"text", {}}, {"label", {}}, {"answer", {}}};
  const std::vector<Row> rows = {{text_cell("a"), text_cell("x"), text_cell("accept")},
                                 {text_cell("b"), text_cell("y"), text_cell("reject")},
                                 {text_cell("c"), text_cell("y"), text_cell("accept")}};
  for (const std::optional<Task> task : {std::optional<Task>(), std::optional(kDefaultTask)}) {
    TableLoader loader({.task = task});
    loader.append_rows(std::make_unique<RowsInMemory>(columns, rows));
    const auto table = loader.finish();
    ASSERT_EQ(table->rows(), 2u);
    EXPECT_EQ(table->source_row(1), 2u);
    ASSERT_EQ(loader.findings().size(), 1u);
    EXPECT_EQ(loader.findings()[0].text,
              "1 row was left out: their column \"answer\" is reject or ignore");
  }
  TableLoader loader({.columns = {.label = "answer"}});
  loader.append_rows(std::make_unique<RowsInMemory>(columns, rows));
  EXPECT_EQ(loader.finish()->rows(), 3u);
}

TEST(Tasks, AFractionAmongTagsIsNoScore) {
  EXPECT_THAT(
      [] {
        one(Task::kTokenClassification, {{"tokens", {}}, {"tags", {}}},
            {text_cell("a b"), text_cell("0.9 0.8")});
      },
      ThrowsCode(Code::kBadData, "name the column of tags with --label-column"));
}

// What is said of rows of three texts, which are read for `task`.
std::string said_of_rows(Task task, std::vector<Column> columns, std::vector<Row> rows) {
  const bool has_labels = traits(task).labels != LabelKind::kMaskedId;
  TableLoader loader(
      {.task = task, .need = has_labels ? LabelNeed::kRequired : LabelNeed::kIgnored});
  loader.append_rows(std::make_unique<RowsInMemory>(std::move(columns), std::move(rows)));
  loader.finish();
  std::string all;
  for (const Finding& found : loader.findings()) all += found.text + "\n";
  return all;
}

TEST(OddExamples, EmptyTextsAndEqualNegativesAreCounted) {
  using testing::HasSubstr;
  const std::vector<Column> triplets = {{"anchor", {}}, {"positive", {}}, {"negative", {}}};
  EXPECT_THAT(said_of_rows(Task::kSimilarity, triplets,
                           {{text_cell("a"), text_cell("b"), text_cell("b")},
                            {text_cell("a"), text_cell("b"), text_cell("a")},
                            {text_cell("a"), text_cell("b"), text_cell("")}}),
              testing::AllOf(HasSubstr("2 rows have a negative that is also the text"),
                             HasSubstr("1 text is empty, and is read as it stands")));
  EXPECT_EQ(
      said_of_rows(Task::kSimilarity, triplets, {{text_cell("a"), text_cell("b"), text_cell("c")}}),
      "");
  EXPECT_THAT(said_of_rows(Task::kSequenceClassification, {{"text", {}}, {"label", {}}},
                           {{text_cell(" "), text_cell("x")}, {text_cell("a"), text_cell("y")}}),
              HasSubstr("1 text is empty"));
}

TEST(OddExamples, BytesThatAreNoTextAreRefusedInRowsToPredict) {
  const auto read = [](bool holds_bytes) {
    TableLoader loader({.task = Task::kSequenceClassification,
                        .need = LabelNeed::kIgnored,
                        .keeps_missing_texts = true});
    loader.append_rows(std::make_unique<RowsInMemory>(
        std::vector<Column>{{.name = "text", .categories = {}, .holds_bytes = holds_bytes}},
        std::vector<Row>{{text_cell("a")}, {Cell()}}));
    return loader.finish()->rows();
  };
  EXPECT_EQ(read(false), 2u);
  EXPECT_THAT([&] { read(true); }, ThrowsCode(Code::kBadData, "or holds bytes that are not UTF-8"));
}

TEST(OddExamples, PairsOfEqualTextsAreNamed) {
  using testing::HasSubstr;
  const std::vector<Column> pairs = {{"sentence1", {}}, {"sentence2", {}}, {"label", {}}};
  EXPECT_THAT(said_of_rows(Task::kSequenceClassification, pairs,
                           {{text_cell("a"), text_cell("a"), text_cell("x")},
                            {text_cell("b"), text_cell("b"), text_cell("y")},
                            {text_cell("b"), text_cell("c"), text_cell("y")}}),
              HasSubstr("both texts are the same in 2 of 3 rows"));
  EXPECT_EQ(said_of_rows(Task::kSequenceClassification, pairs,
                         {{text_cell("a"), text_cell("a"), text_cell("x")},
                          {text_cell("b"), text_cell("c"), text_cell("y")}}),
            "");
  // Among rows of a search, few are odd.
  const std::vector<Column> queries = {{"query", {}}, {"passage", {}}};
  std::vector<Row> rows = {{text_cell("a"), text_cell(" a")}};
  for (int i = 0; i < 10; ++i) rows.push_back({text_cell("b"), text_cell("c")});
  EXPECT_THAT(
      said_of_rows(Task::kSimilarity, queries, rows),
      testing::AllOf(HasSubstr("both texts are the same in 1 of 11 rows; take such rows out"),
                     testing::Not(HasSubstr("second text of an earlier row"))));
  rows.push_back({text_cell("d"), text_cell("c")});
  EXPECT_THAT(said_of_rows(Task::kSimilarity, queries, rows),
              HasSubstr("10 of the first 12 rows have the second text of an earlier row"));
  EXPECT_EQ(said_of_rows(Task::kSimilarity, queries, {{text_cell("a"), text_cell("b")}}), "");
}

TEST(OddExamples, DistancesAreNoSimilarities) {
  EXPECT_THAT(said_of_rows(Task::kSimilarity, {{"sentence1", {}}, {"sentence2", {}}, {"label", {}}},
                           {{text_cell("a"), text_cell("b"), text_cell("0.5")}}),
              testing::Not(testing::HasSubstr("smallest number")));
  TableLoader loader({.task = Task::kSimilarity, .columns = {.label = "cosine_distance"}});
  loader.append_rows(std::make_unique<RowsInMemory>(
      std::vector<Column>{{"sentence1", {}}, {"sentence2", {}}, {"cosine_distance", {}}},
      std::vector<Row>{{text_cell("a"), text_cell("b"), text_cell("0.5")}}));
  loader.finish();
  ASSERT_FALSE(loader.findings().empty());
  EXPECT_THAT(loader.findings()[0].text,
              testing::HasSubstr("equal texts have the smallest number"));
}

TEST(OddExamples, PartsOfWordsAreNamed) {
  using testing::HasSubstr;
  EXPECT_THAT(said_of_rows(Task::kTokenClassification, {{"tokens", {}}, {"ner_tags", {}}},
                           {{text_cell("I ##da sings"), text_cell("B-PER I-PER O")}}),
              HasSubstr("1 of 3 words are parts that a tokenizer has made"));
  EXPECT_THAT(said_of_rows(Task::kTokenClassification, {{"tokens", {}}, {"ner_tags", {}}},
                           {{text_cell("## Ida sings"), text_cell("O B-PER O")}}),
              testing::Not(HasSubstr("parts that a tokenizer")));
}

TEST(OddExamples, RowsThatAReviewRejectedAreNamed) {
  const std::vector<Column> columns = {{"text", {}}, {"label", {}}, {"Status", {}}};
  const auto warned = [&](const char* status) {
    TableLoader loader({});
    loader.append_rows(std::make_unique<RowsInMemory>(
        columns, std::vector<Row>{{text_cell("a"), text_cell("x"), text_cell("Accepted")},
                                  {text_cell("b"), text_cell("y"), text_cell(status)}}));
    loader.finish();
    std::string all;
    for (const Finding& found : loader.findings()) all += found.text;
    return all;
  };
  EXPECT_THAT(warned("Rejected"),
              testing::HasSubstr("column \"Status\" says of 1 of the first 2 rows"));
  EXPECT_EQ(warned("Pending"), "");
}

TEST(OddExamples, WordsThatATokenizerAddsAndEmptyOnesAreNamed) {
  using testing::HasSubstr;
  const std::vector<Column> columns = {{"tokens", {}}, {"ner_tags", {}}};
  const auto warned = [&](const char* words, const char* tags) {
    return said_of_rows(Task::kTokenClassification, columns, {{text_cell(words), text_cell(tags)}});
  };
  EXPECT_THAT(warned(R"(["[CLS]", "Ida", "sings", "[SEP]", "[PAD]"])", "O B-PER O O O"),
              HasSubstr("3 of 5 words are tokens such as [CLS] or [PAD]"));
  EXPECT_THAT(warned(R"(["Ida", "", "", " "])", R"(["B-PER", "O", "O", "O"])"),
              HasSubstr("3 of 4 words are empty"));
  EXPECT_THAT(warned("Ida sings here", "B-PER O O"), testing::Not(HasSubstr("words are")));
}

TEST(OddExamples, RightChoicesThatShowAnotherCountAreNamed) {
  using testing::HasSubstr;
  const auto warned = [](const std::vector<int64_t>& labels, const char* choices) {
    std::vector<Row> rows;
    for (int i = 0; i < 24; ++i) {
      rows.push_back({text_cell("q"), text_cell(choices),
                      Cell(labels[static_cast<size_t>(i) % labels.size()])});
    }
    return said_of_rows(Task::kMultipleChoice, {{"question", {}}, {"choices", {}}, {"label", {}}},
                        rows);
  };
  const char* const kThree = R"(["a", "b", "c"])";
  EXPECT_THAT(warned({1, 2}, kThree), HasSubstr("no row's right choice is the first one"));
  EXPECT_THAT(warned({0}, kThree), HasSubstr("the right choice is the first one in all rows"));
  EXPECT_EQ(warned({0, 1, 2}, kThree), "");
  EXPECT_THAT(warned({0, 1}, R"(["a", "a"])"), HasSubstr("24 rows have a choice twice"));
}

TEST(OddExamples, TextsOfOtherTypesAreNamed) {
  const std::vector<Column> columns = {{"text", {}}, {"label", {}}};
  const Row text = {text_cell("a"), text_cell("x")}, other = {text_cell("b"), text_cell("y")};
  EXPECT_THAT(said_of_rows(Task::kSequenceClassification, columns,
                           {text, other, text, {Cell(int64_t{7}), text_cell("x")}}),
              testing::HasSubstr("1 text is a number, or true or false, by type"));
  EXPECT_EQ(said_of_rows(Task::kSequenceClassification, columns, {text, other}), "");
}

TEST(OddExamples, TextsThatAreDictionariesAreNamed) {
  EXPECT_THAT(said_of_rows(Task::kSequenceClassification, {{"text", {}}, {"label", {}}},
                           {{text_cell("{'en': 'a'}"), text_cell("x")},
                            {text_cell("{'en': 'b'}"), text_cell("y")}}),
              testing::HasSubstr("is JSON or a dict"));
}

}  // namespace
}  // namespace berth
