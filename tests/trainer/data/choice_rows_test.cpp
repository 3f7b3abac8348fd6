// Rows of a context and several choices: from tables through features to batches.

#include "trainer/data/choice_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/letter_tokenizer.h"
#include "tests/support/rows_in_memory.h"
#include "tests/support/throws_code.h"
#include "trainer/data/batcher.h"
#include "trainer/data/table_loader.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

using Names = std::vector<std::string>;

std::vector<Column> columns_named(const Names& names) {
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back({.name = name, .categories = {}});
  return columns;
}

std::vector<size_t> choices_of(const Names& names) { return find_choices(columns_named(names)); }

Cell cell_of(const std::string& value) { return Cell(std::in_place_type<std::string>, value); }

TEST(ChoiceColumns, AreNumberedOrLettered) {
  EXPECT_THAT(choices_of({"sent1", "ending1", "ending0", "label"}), ElementsAre(2u, 1u));
  EXPECT_THAT(choices_of({"premise", "choice1", "choice2", "question"}), ElementsAre(1u, 2u));
  EXPECT_THAT(choices_of({"context", "answerA", "answerB", "answerC", "label"}),
              ElementsAre(1u, 2u, 3u));
  EXPECT_THAT(choices_of({"question", "A", "B", "C", "D", "answer"}), ElementsAre(1u, 2u, 3u, 4u));
  EXPECT_THAT(choices_of({"question", "opa", "opb", "cop"}), ElementsAre(1u, 2u));
  EXPECT_THAT(choices_of({"goal", "sol1", "sol2", "label"}), ElementsAre(1u, 2u));
  EXPECT_THAT(choices_of({"Option_10", "option_9", "option_8", "option_7", "option_6", "option_5",
                          "option_4", "option_3", "option_2", "option_1"})
                  .back(),
              0u);
}

TEST(ChoiceColumns, AreLists) {
  EXPECT_THAT(choices_of({"article", "answer", "question", "options"}), ElementsAre(3u));
  EXPECT_THAT(choices_of({"question", "choices", "answerKey"}), ElementsAre(1u));
  EXPECT_THAT(choices_of({"ctx", "endings", "label"}), ElementsAre(1u));
}

TEST(ChoiceColumns, AreNoOtherTexts) {
  EXPECT_THAT(choices_of({"text", "label"}), IsEmpty());
  EXPECT_THAT(choices_of({"a", "b", "label"}), IsEmpty());
  EXPECT_THAT(choices_of({"question", "answer", "option1"}), IsEmpty());
}

TEST(ChoiceColumns, HaveNoGap) {
  EXPECT_THAT(
      [] {
        choices_of({"ending0", "ending2"});
      },
      ThrowsCode(Code::kBadData, "a gap before \"ending2\""));
  EXPECT_THAT(
      [] {
        choices_of({"choice3", "choice4"});
      },
      ThrowsCode(Code::kBadData, "a gap before \"choice3\""));
  EXPECT_THAT(
      [] {
        choices_of({"choice1", "choice_1"});
      },
      ThrowsCode(Code::kBadData, "a gap before \"choice_1\""));
}

TEST(ChoiceLeads, AreQuestionsAndSecondSentences) {
  const auto lead = [](const Names& names) { return find_lead(columns_named(names), 0); };
  EXPECT_THAT(lead({"sent1", "sent2"}), Optional(1u));
  EXPECT_THAT(lead({"article", "options", "Question"}), Optional(2u));
  EXPECT_EQ(lead({"question", "choices"}), std::nullopt);
  EXPECT_THAT(lead({"context", "prompt", "A", "B"}), Optional(1u));
  EXPECT_THAT(lead({"passage", "stem", "options"}), Optional(1u));
  EXPECT_EQ(lead({"question", "prompt", "options"}), std::nullopt);
}

TEST(ChoiceContexts, StandBeforeAQuestion) {
  const auto columns_of = [](const Names& names, const ColumnChoice& choice = {}) {
    const auto all = columns_named(names);
    const FoundColumns found =
        find_columns(all, choice, LabelNeed::kRequired, Task::kMultipleChoice);
    return std::pair(names[found.text], found.text_pair ? names[*found.text_pair] : "");
  };
  using Both = std::pair<std::string, std::string>;
  for (const char* context : {"text", "paragraph", "story", "document", "content", "sentence",
                              "dialogue", "support", "hint"}) {
    EXPECT_EQ(columns_of({"question", context, "choices", "answer"}), Both(context, "question"));
  }
  EXPECT_EQ(columns_of({"prompt", "context", "A", "B", "answer"}), Both("context", "prompt"));
  EXPECT_EQ(columns_of({"stem", "passage", "options", "label"}), Both("passage", "stem"));
  // A model that was trained on one text keeps reading it alone.
  const ColumnChoice::Trained of_question{.text = "question", .label = "answer"};
  EXPECT_EQ(columns_of({"question", "text", "choices", "answer"}, {.trained = of_question}),
            Both("question", ""));
  const ColumnChoice::Trained of_context{.text = "context", .label = "answer"};
  EXPECT_EQ(columns_of({"prompt", "context", "A", "B", "answer"}, {.trained = of_context}),
            Both("context", ""));
}

TEST(ChoiceTexts, FillTheGapOfAQuestion) {
  EXPECT_EQ(text_of_choice("Who won?", "Ann", true), "Who won? Ann");
  EXPECT_EQ(text_of_choice("She _ home, and _ .", "went", true), "She went home, and went .");
  EXPECT_EQ(text_of_choice("She ____ home.", "went", true), "She went home.");
  EXPECT_EQ(text_of_choice("The _", "end", false), "The _ end");
  EXPECT_EQ(text_of_choice("It is_.", "x", true), "It isx.");
  EXPECT_EQ(text_of_choice("\u4ed6_\u4e86", "x", true), "\u4ed6x\u4e86");
}

TEST(ChoiceTexts, HaveNoGapInANameOfAProgram) {
  EXPECT_EQ(text_of_choice("Is x_max set by __init__?", "No", true),
            "Is x_max set by __init__? No");
  EXPECT_EQ(text_of_choice("x_max is _ .", "1", true), "x_max is 1 .");
  EXPECT_EQ(text_of_choice("Who thinks_____in x_max?", "so", true), "Who thinkssoin x_max?");
}

TEST(ChoiceTexts, OfTheSecondSentenceOfSwagHaveNoGap) {
  EXPECT_TRUE(may_have_gap("question"));
  EXPECT_FALSE(may_have_gap("sent2"));
}

TEST(ListedChoices, AreTextsWithOrWithoutNames) {
  EXPECT_THAT(listed_choices("c", R"(["a", "b c", 3])").texts, ElementsAre("a", "b c", "3"));
  EXPECT_THAT(listed_choices("c", "['a', 'b']").texts, ElementsAre("a", "b"));
  const Choices named = listed_choices("c", R"({"text": ["x", "y"], "label": ["A", "B"]})");
  EXPECT_THAT(named.texts, ElementsAre("x", "y"));
  EXPECT_THAT(named.names, ElementsAre("A", "B"));
  const Choices objects =
      listed_choices("c", R"([{"label": "1", "text": "x"}, {"label": "2", "text": "y"}])");
  EXPECT_THAT(objects.texts, ElementsAre("x", "y"));
  EXPECT_THAT(objects.names, ElementsAre("1", "2"));
  const Choices by_letter = listed_choices("c", R"({"B": "y", "A": "x"})");
  EXPECT_THAT(by_letter.texts, ElementsAre("x", "y"));
  EXPECT_THAT(by_letter.names, ElementsAre("A", "B"));
  const Choices keyed =
      listed_choices("c", R"([{"key": "A", "value": "x"}, {"key": "B", "value": "y"}])");
  EXPECT_THAT(keyed.texts, ElementsAre("x", "y"));
  EXPECT_THAT(keyed.names, ElementsAre("A", "B"));
}

TEST(ListedChoices, OfAnotherFormAreRefused) {
  for (const char* text : {"plain", "{\"text\": \"x\"}", R"({"text": ["x", "y"], "label": ["A"]})",
                           R"([{"text": "x"}, 4])", "[\"a\", ", R"({"A": "x", "C": "y"})",
                           R"({"A": "x", "B": null})"}) {
    EXPECT_THAT([&] { listed_choices("options", text); },
                ThrowsCode(Code::kBadData, "is not a list of choices"))
        << text;
  }
}

Choices choices_named(const Names& texts, const Names& names = {}) {
  return {.texts = texts, .names = names};
}

TEST(ChoiceLabels, AreNumbersLettersOrTheRowsOwnNames) {
  const Choices four = choices_named({"v", "w", "x", "y"});
  EXPECT_EQ(number_of_choice(Cell(int64_t{2}), four), 2);
  EXPECT_EQ(number_of_choice(Cell(3.0), four), 3);
  EXPECT_EQ(number_of_choice(cell_of(" 1 "), four), 1);
  EXPECT_EQ(number_of_choice(cell_of("A"), four), 0);
  EXPECT_EQ(number_of_choice(cell_of("d"), four), 3);
  const Choices numbered = choices_named({"x", "y", "z"}, {"1", "2", "3"});
  EXPECT_EQ(number_of_choice(cell_of("3"), numbered), 2);
  EXPECT_EQ(number_of_choice(Cell(int64_t{1}), numbered), 0);
  const Choices lettered = choices_named({"x", "y"}, {"A", "B"});
  EXPECT_EQ(number_of_choice(cell_of("b"), lettered), 1);
  EXPECT_EQ(number_of_choice(Cell(int64_t{0}), lettered), 0);
}

TEST(ChoiceLabels, AreColumnsOrTextsOfChoices) {
  const Choices both = choices_named({"it ran", "it hid"});
  EXPECT_EQ(number_of_choice(cell_of("choice2"), both, Names{"choice1", "choice2"}), 1);
  EXPECT_EQ(number_of_choice(cell_of("option_a"), both, Names{"Option_A", "Option_B"}), 0);
  EXPECT_EQ(number_of_choice(cell_of("it hid"), both), 1);
  EXPECT_EQ(number_of_choice(cell_of("it hid"), choices_named(both.texts, {"A", "B"})), 1);
  EXPECT_THAT(
      [&] {
        number_of_choice(cell_of("x"), choices_named({"x", "y", "x"}));
      },
      ThrowsCode(Code::kBadData, "means none of the row's 3 choices"));
}

// In one file, a label 2 would be the third choice of one row and the text "2" of another one.
TEST(ChoiceLabels, ThatCountAreNoTexts) {
  const auto is_refused = ThrowsCode(Code::kBadData, "means none of the row's 4 choices");
  const Choices numbers = choices_named({"4", "5", "6", "7"});
  EXPECT_THAT([&] { number_of_choice(cell_of("4"), numbers); }, is_refused);
  EXPECT_THAT(
      [&] {
        number_of_choice(cell_of("e"), choices_named({"e", "x", "y", "z"}));
      },
      is_refused);
  const Choices named = choices_named({"2", "1", "4", "3"}, {"A", "B", "C", "D"});
  EXPECT_THAT([&] { number_of_choice(cell_of("2"), named); }, is_refused);
}

TEST(ChoiceLabels, OfNoChoiceAreRefused) {
  for (const Cell& label : {Cell(int64_t{4}), Cell(int64_t{-1}), Cell(0.5), cell_of("E"),
                            cell_of("Ann"), cell_of(""), Cell(true)}) {
    EXPECT_THAT(
        [&] {
          number_of_choice(label, choices_named({"v", "w", "x", ""}));
        },
        ThrowsCode(Code::kBadData, "means none of the row's 4 choices"));
  }
  EXPECT_THAT(
      [] {
        number_of_choice(cell_of("C"), choices_named({"x", "y"}, {"A", "B"}));
      },
      ThrowsCode(Code::kBadData, R"(write the name of the right choice: "A", "B")"));
  EXPECT_THAT(
      [] {
        number_of_choice(cell_of("0"), choices_named({"x", "y"}, {"1", "2"}));
      },
      ThrowsCode(Code::kBadData, "means none"));
}

// Rows of a table, up to their batch.
struct ChoiceTable {
  ChoiceTable(const Names& names, std::vector<Row> rows, LoadRules rules = {}) {
    rules.task = Task::kMultipleChoice;
    TableLoader loader(rules);
    loader.append_rows(std::make_unique<RowsInMemory>(columns_named(names), std::move(rows)));
    columns = loader.columns();
    table = loader.finish();
    maker = make_feature_maker(
        {.task = Task::kMultipleChoice, .max_seq_length = 8, .labelled = table->labelled},
        tokenizer);
    std::vector<uint32_t> all(table->rows());
    std::iota(all.begin(), all.end(), 0u);
    data = std::make_unique<Dataset>(*table, all, Task::kMultipleChoice, *maker,
                                     /*labelled=*/table->labelled);
  }
  PackedBatch batch() {
    std::vector<int64_t> all(static_cast<size_t>(data->size()));
    std::iota(all.begin(), all.end(), 0);
    return pack(*data, all);
  }

  LetterTokenizer tokenizer;
  ColumnChoice columns;
  std::unique_ptr<ExampleTable> table;
  std::unique_ptr<FeatureMaker> maker;
  std::unique_ptr<Dataset> data;
};

TEST(ChoiceRows, OfSwagArePairsOfBothSentences) {
  ChoiceTable rows(
      {"", "sent1", "sent2", "ending0", "ending1", "label"},
      {{cell_of("0"), cell_of("a"), cell_of("b_"), cell_of("c"), cell_of("d"), cell_of("1")},
       {cell_of("1"), cell_of("e"), cell_of("f"), cell_of("g"), cell_of("h"), cell_of("0")}});
  EXPECT_THAT(rows.table->read(0).texts, ElementsAre("a", "b_ c", "b_ d"));
  EXPECT_THAT(rows.columns.others, ElementsAre("ending0", "ending1"));
  EXPECT_EQ(rows.columns.text_pair, "sent2");
  const PackedBatch batch = rows.batch();
  EXPECT_EQ(batch.sequences_per_example, 2);
  EXPECT_EQ(batch.num_sequences(), 4);
  EXPECT_EQ(batch.num_examples(), 2);
  EXPECT_THAT(std::get<PackedBatch::Classes>(batch.labels), ElementsAre(1, 0));
  const Encoding pair = rows.tokenizer.encode("a", "b_ d", 8);
  const auto begin = batch.input_ids.begin() + batch.cu_seqlens[1];
  EXPECT_EQ(std::vector<int32_t>(begin, batch.input_ids.begin() + batch.cu_seqlens[2]),
            pair.input_ids);
}

TEST(ChoiceRows, OfRaceFillTheGap) {
  ChoiceTable rows({"article", "question", "options", "answer"},
                   {{cell_of("a"), cell_of("b _ ."), cell_of(R"(["c", "d"])"), cell_of("B")},
                    {cell_of("e"), cell_of("f?"), cell_of(R"(["g", "h"])"), cell_of("A")}});
  EXPECT_THAT(rows.table->read(0).texts, ElementsAre("a", "b c .", "b d ."));
  EXPECT_THAT(rows.table->read(1).texts, ElementsAre("e", "f? g", "f? h"));
  EXPECT_THAT(rows.table->read(0).labels, ElementsAre(1));
}

// The files of RACE hold an article each.
std::unique_ptr<RowReader> question_rows(const Names& names, std::vector<Row> articles) {
  return make_question_rows(
      std::make_unique<RowsInMemory>(columns_named(names), std::move(articles)));
}

TEST(RaceArticles, HaveARowForEachQuestion) {
  const Names names = {"answers", "options", "questions", "article", "id"};
  EXPECT_TRUE(names_articles(columns_named(names)));
  EXPECT_FALSE(names_articles(columns_named({"article", "question", "options", "answer"})));
  const auto rows = question_rows(
      names, {{cell_of(R"(["B", "A"])"), cell_of(R"([["c", "d"], ["e", "f"]])"),
               cell_of(R"(["b _ .", "g?"])"), cell_of("a"), cell_of("high1.txt")},
              {cell_of("[]"), cell_of("[]"), cell_of("[]"), cell_of("h"), cell_of("high2.txt")},
              {cell_of(R"(["B"])"), cell_of(R"([["c", "d"]])"), cell_of(R"(["i"])"), cell_of("j"),
               Cell()}});
  EXPECT_THAT(choices_of({"question", "options", "answer", "article", "id"}), ElementsAre(1u));
  Row row;
  ASSERT_TRUE(rows->next(row));
  EXPECT_EQ(row, (Row{cell_of("b _ ."), cell_of(R"(["c","d"])"), cell_of("B"), cell_of("a"),
                      cell_of("high1.txt-0")}));
  ASSERT_TRUE(rows->next(row));
  EXPECT_EQ(row, (Row{cell_of("g?"), cell_of(R"(["e","f"])"), cell_of("A"), cell_of("a"),
                      cell_of("high1.txt-1")}));
  EXPECT_EQ(rows->position(), "row 0, question 2");
  ASSERT_TRUE(rows->next(row));
  EXPECT_EQ(row[0], cell_of("i"));
  EXPECT_FALSE(rows->next(row));
}

TEST(RaceArticles, HaveListsOfOneLength) {
  const Names names = {"article", "questions", "options", "answers"};
  for (const char* answers : {R"(["A"])", R"("AB")", "A", ""}) {
    const auto rows = question_rows(
        names,
        {{cell_of("a"), cell_of(R"(["b", "c"])"), cell_of(R"([["d"], ["e"]])"), cell_of(answers)},
         {cell_of("f"), cell_of(R"(["g"])"), cell_of(R"([["h", "i"]])"), cell_of(R"(["A"])")}});
    Row row;
    EXPECT_THAT([&] { rows->next(row); },
                ThrowsCode(Code::kBadData,
                           "row 0: the article has 2 questions, and its member \"answers\" is no "
                           "list with as many members"));
    EXPECT_TRUE(rows->next(row));  // the article after it
    EXPECT_EQ(row[0], cell_of("g"));
  }
}

TEST(RaceArticles, DoNotRepeatALongArticleWithoutEnd) {
  std::string questions = "[0", options = "[0";
  for (int i = 0; i < 200; ++i) {
    questions += ",0";
    options += ",0";
  }
  const auto rows = question_rows(
      {"article", "questions", "options"},
      {{cell_of(std::string(10'000, 'a')), cell_of(questions + "]"), cell_of(options + "]")}});
  Row row;
  EXPECT_THAT([&] { rows->next(row); },
              ThrowsCode(Code::kBadData, "too many questions about a long article"));
}

TEST(ChoiceRows, WithoutAContextHaveTheQuestionFirst) {
  ChoiceTable rows(
      {"question", "choices", "answerKey"},
      {{cell_of("a"), cell_of(R"({"text": ["b", "c"], "label": ["1", "2"]})"), cell_of("2")}});
  EXPECT_THAT(rows.table->read(0).texts, ElementsAre("a", "b", "c"));
  EXPECT_THAT(rows.table->read(0).labels, ElementsAre(1));
}

TEST(ChoiceRows, HaveTheSameNumberOfChoices) {
  EXPECT_THAT(
      [] {
        ChoiceTable({"question", "choices", "label"},
                    {{cell_of("a"), cell_of(R"(["b", "c"])"), cell_of("0")},
                     {cell_of("d"), cell_of(R"(["e"])"), cell_of("0")}});
      },
      ThrowsCode(Code::kBadData, "the row has 1 choice"));
  EXPECT_THAT(
      [] {
        ChoiceTable({"question", "choices", "label"},
                    {{cell_of("a"), cell_of(R"(["b", "c"])"), cell_of("0")},
                     {cell_of("d"), cell_of(R"(["e", "f", "g"])"), cell_of("0")}});
      },
      ThrowsCode(Code::kBadData, "the row has 3 choices, and the first row has 2"));
}

TEST(ChoiceRows, NeedChoicesAndLabels) {
  EXPECT_THAT(
      [] {
        ChoiceTable({"question", "label"}, {{cell_of("a"), cell_of("0")}});
      },
      ThrowsCode(Code::kBadData, "no column holds choices by its name"));
  EXPECT_THAT(
      [] {
        ChoiceTable({"question", "choices"}, {{cell_of("a"), cell_of(R"(["b", "c"])")}});
      },
      ThrowsCode(Code::kBadData, "no column has a usual name for labels"));
  EXPECT_THAT(
      [] {
        ChoiceTable({"question", "A", "B", "answer"},
                    {{cell_of("a"), cell_of("b"), cell_of("c"), Cell()}});
      },
      ThrowsCode(Code::kBadData, "label \"answer\" is missing"));
  EXPECT_THAT(
      [] {
        ChoiceTable({"question", "A", "B", "answer"},
                    {{cell_of("a"), cell_of("b"), Cell(), cell_of("A")}});
      },
      ThrowsCode(Code::kBadData, "the cell of column \"B\" is empty"));
}

TEST(ChoiceRows, HaveALeadWhereTheModelWasTrainedOnOne) {
  const auto lead_of = [](const Names& names) {
    const ColumnChoice::Trained trained{
        .text = "article", .text_pair = "question", .label = "answer"};
    const auto all = columns_named(names);
    return find_columns(all, {.trained = trained}, LabelNeed::kRequired, Task::kMultipleChoice)
        .text_pair;
  };
  EXPECT_THAT(lead_of({"article", "question", "options", "answer"}), Optional(1u));
  EXPECT_THAT(lead_of({"article", "sent2", "options", "answer"}), Optional(1u));
  EXPECT_THAT(
      [&] {
        lead_of({"article", "options", "answer"});
      },
      ThrowsCode(Code::kBadData, "the model was trained on two texts"));
}

TEST(ChoiceRows, ToPredictKeepTheirPlacesWhereTextsAreMissing) {
  ChoiceTable rows({"article", "question", "options"},
                   {{cell_of("a"), cell_of("b"), cell_of(R"(["c", "d", "e"])")},
                    {cell_of("a"), Cell(), cell_of(R"(["c", "d", "e"])")},
                    {cell_of("a"), cell_of("b"), Cell()}},
                   {.need = LabelNeed::kIgnored, .keeps_missing_texts = true});
  EXPECT_THAT(rows.table->read(1).texts, ElementsAre("a", "", "", ""));
  EXPECT_THAT(rows.table->read(2).texts, ElementsAre("a", "", "", ""));
  EXPECT_EQ(rows.batch().sequences_per_example, 3);
}

TEST(ChoiceRows, AreNamedToATaskThatDoesNotReadThem) {
  TableLoader loader({.task = Task::kSequenceClassification});
  loader.append_rows(std::make_unique<RowsInMemory>(
      columns_named({"sent1", "sent2", "ending0", "ending1", "label"}),
      std::vector<Row>{{cell_of("a"), cell_of("b"), cell_of("c"), cell_of("d"), cell_of("1")},
                       {cell_of("a"), cell_of("b"), cell_of("c"), cell_of("d"), cell_of("0")}}));
  EXPECT_THAT(loader.findings(),
              testing::Contains(testing::Field(
                  &Finding::text, testing::HasSubstr("--task multiple_choice learns which"))));
}

}  // namespace
}  // namespace berth
