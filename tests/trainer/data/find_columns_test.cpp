#include "trainer/data/find_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;

FoundColumns find(const std::vector<std::string>& names, const ColumnChoice& choice = {},
                  LabelNeed need = LabelNeed::kRequired,
                  Task task = Task::kSequenceClassification) {
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back({.name = name, .categories = {}});
  return find_columns(columns, choice, need, task);
}

TEST(FindColumns, TextAndLabelAreFoundByTheFieldsNames) {
  const FoundColumns found = find({"id", "label", "sentence"});
  EXPECT_EQ(found.text, 2u);
  EXPECT_THAT(found.labels, ElementsAre(1u));
  EXPECT_EQ(found.text_pair, std::nullopt);
}

// Passages have the names of ids that a retrieval set has. A pair may have two ids.
TEST(FindColumns, TextsToEmbedAreKnownByTheIdsOfARetrievalSet) {
  const auto id = [](const std::string& name, Task task) {
    return find({name, "text", "title"}, {}, LabelNeed::kIgnored, task).id;
  };
  for (const char* name : {"_id", "id", "docid", "doc_id", "corpus_id", "query_id"}) {
    EXPECT_THAT(id(name, Task::kTextEmbedding), Optional(0u)) << name;
  }
  EXPECT_THAT(id("_id", Task::kSequenceClassification), Optional(0u));
  EXPECT_EQ(id("doc_id", Task::kSequenceClassification), std::nullopt);
}

TEST(FindColumns, ColumnsOfValuesWithoutAFormAreRefusedOnlyWhereTheyWouldBeRead) {
  const auto find_one = [](const std::string& unreadable, LabelNeed need) {
    std::vector<Column> columns;
    for (const char* name : {"text", "label", "span"}) {
      columns.push_back({.name = name, .categories = {}});
      if (name == unreadable) columns.back().unreadable = "intervals";
    }
    return find_columns(columns, {}, need, Task::kSequenceClassification);
  };
  EXPECT_THAT([&] { find_one("text", LabelNeed::kIgnored); },
              ThrowsCode(Code::kBadData, "column \"text\" holds intervals"));
  EXPECT_THAT([&] { find_one("label", LabelNeed::kRequired); },
              ThrowsCode(Code::kBadData, "column \"label\" holds intervals"));
  EXPECT_EQ(find_one("label", LabelNeed::kIgnored).text, 0u);
  EXPECT_EQ(find_one("span", LabelNeed::kRequired).text, 0u);
}

TEST(FindColumns, TextsToEmbedAreNoPairsUnlessTheUserSaysSo) {
  const auto find_one = [](const ColumnChoice& choice) {
    return find({"id", "sentence1", "sentence2"}, choice, LabelNeed::kIgnored,
                Task::kTextEmbedding);
  };
  EXPECT_EQ(find_one({}).text, 1u);
  EXPECT_EQ(find_one({}).text_pair, std::nullopt);
  EXPECT_THAT(find_one({}).id, Optional(0u));
  EXPECT_THAT(find_one({.text_pair = "sentence2"}).text_pair, Optional(2u));
}

TEST(FindColumns, TextsToCompareAreTwoOrThree) {
  const FoundColumns pair = find({"score", "sentence1", "sentence2", "negative"}, {},
                                 LabelNeed::kRequired, Task::kSimilarity);
  EXPECT_THAT(pair.labels, ElementsAre(0u));
  EXPECT_EQ(pair.text, 1u);
  EXPECT_THAT(pair.text_pair, Optional(2u));
  EXPECT_TRUE(pair.others.empty());
  const FoundColumns triplet =
      find({"negative", "positive", "anchor"}, {}, LabelNeed::kIgnored, Task::kInBatchNegatives);
  EXPECT_EQ(triplet.text, 2u);
  EXPECT_THAT(triplet.text_pair, Optional(1u));
  EXPECT_THAT(triplet.others, ElementsAre(0u));
  EXPECT_THAT(
      [] {
        find({"sentence1", "score"}, {}, LabelNeed::kRequired, Task::kSimilarity);
      },
      ThrowsCode(Code::kBadData, "to compare with"));
}

TEST(FindColumns, CaseMattersOnlyBetweenEqualNames) {
  EXPECT_EQ(find({"Text", "LABEL"}).text, 0u);
  EXPECT_EQ(find({"TEXT", "text", "label"}).text, 1u);
}

TEST(FindColumns, TheMoreTellingNameWins) {
  EXPECT_EQ(find({"description", "text", "label"}).text, 1u);
  EXPECT_THAT(find({"text", "category", "label"}).labels, ElementsAre(2u));
}

TEST(FindColumns, TheOtherOfTwoColumnsIsTheText) {
  EXPECT_EQ(find({"label", "headline"}).text, 1u);
  EXPECT_EQ(find({"headline"}, {}, LabelNeed::kIfPresent).text, 0u);
}

TEST(FindColumns, PairsAreFoundByTheirNames) {
  for (const auto& [first, second] : {std::pair("sentence1", "sentence2"),
                                      {"text_a", "text_b"},
                                      {"text", "text_pair"},
                                      {"premise", "hypothesis"},
                                      {"question1", "question2"},
                                      {"question", "sentence"}}) {
    const FoundColumns found = find({second, first, "label"});
    EXPECT_EQ(found.text, 1u) << first;
    EXPECT_THAT(found.text_pair, Optional(Eq(0u))) << first;
  }
}

TEST(FindColumns, FlagsMayPutTheSentenceBeforeTheQuestion) {
  const FoundColumns found = find({"sentence", "question", "label"}, {.text = "sentence"});
  EXPECT_EQ(found.text, 0u);
  EXPECT_THAT(found.text_pair, Optional(Eq(1u)));
  EXPECT_EQ(find({"sentence", "question", "label"}, {.text_pair = "question"}).text, 0u);
}

TEST(FindColumns, RarePairsAreReadWhereNoSingleTextIsFound) {
  for (const auto& [first, second] : {std::pair("sent1", "sent2"), std::pair("Query", "Passage")}) {
    const FoundColumns found = find({second, "label", first});
    EXPECT_EQ(found.text, 2u);
    EXPECT_THAT(found.text_pair, Optional(0u));
  }
  EXPECT_EQ(find({"text", "sent1", "sent2", "label"}).text_pair, std::nullopt);
  EXPECT_EQ(find({"prompt", "response", "label"}, {.text = "prompt"}).text_pair, std::nullopt);
}

TEST(FindColumns, PairsOfAQuestionAndItsPassageAreRead) {
  for (const char* passage : {"passage", "context", "paragraph"}) {
    const FoundColumns found = find({"label", passage, "question"});
    EXPECT_EQ(found.text, 2u) << passage;
    EXPECT_THAT(found.text_pair, Optional(1u)) << passage;
  }
  EXPECT_THAT(find({"context", "hypothesis", "label"}).text_pair, Optional(1u));
  // The answer may be the label, as in BoolQ's own files.
  const FoundColumns boolq = find({"question", "title", "answer", "passage"}, {.label = "answer"});
  EXPECT_EQ(boolq.text, 0u);
  EXPECT_THAT(boolq.text_pair, Optional(3u));
  EXPECT_THAT(
      [] {
        find({"first", "second", "label"});
      },
      ThrowsCode(Code::kBadData, "the second text of a pair with --text-pair-column"));
}

TEST(FindColumns, RowsToEvaluateOnMayLackWeights) {
  EXPECT_THAT(
      [] {
        find({"text", "label"}, {.weight = "w"});
      },
      ThrowsCode(Code::kBadData, "no column \"w\" (--weight-column)"));
  EXPECT_EQ(find({"text", "label"}, {.weight = "w", .may_lack_weights = true}).weight,
            std::nullopt);
  EXPECT_THAT(find({"text", "label", "w"}, {.weight = "w", .may_lack_weights = true}).weight,
              Optional(2u));
}

TEST(FindColumns, ColumnsOfTextsThatAreNotReadAreNamed) {
  const auto unread = [](const std::vector<std::string>& names) {
    std::vector<Column> columns;
    for (const std::string& name : names) columns.push_back({.name = name, .categories = {}});
    return unread_texts(columns, find_columns(columns, {}, LabelNeed::kRequired));
  };
  EXPECT_THAT(unread({"query", "document", "label"}), ElementsAre("\"query\""));
  EXPECT_THAT(unread({"sentence", "sentence_2", "label"}), ElementsAre("\"sentence_2\""));
  EXPECT_THAT(unread({"id", "title", "text", "label"}), IsEmpty());
  EXPECT_THAT(unread({"sentence1", "sentence2", "label"}), IsEmpty());
}

FoundColumns find_known(const std::vector<std::string>& names, const ColumnChoice::Trained& trained,
                        const std::string& text = "") {
  return find(names, {.text = text, .trained = trained});
}

TEST(FindColumns, TheColumnsOfTheTrainingOutrankUsualNames) {
  const ColumnChoice::Trained trained = {.text = "body", .label = "category"};
  const FoundColumns same = find_known({"text", "label", "body", "category"}, trained);
  EXPECT_EQ(same.text, 2u);
  EXPECT_THAT(same.labels, ElementsAre(3u));
  const FoundColumns other = find_known({"text", "label"}, trained);
  EXPECT_EQ(other.text, 0u);
  EXPECT_THAT(other.labels, ElementsAre(1u));
  EXPECT_EQ(find_known({"", "text", "label"}, {.text = "body"}).text, 1u);
  const ColumnChoice::Trained pair = {.text = "text", .text_pair = "context", .label = "label"};
  EXPECT_THAT(find_known({"text", "context", "label"}, pair).text_pair, Optional(1u));
}

TEST(FindColumns, AModelThatKnowsOneTextReadsNoPair) {
  const ColumnChoice::Trained one = {.text = "sentence1", .label = "label"};
  EXPECT_EQ(find_known({"sentence1", "sentence2", "label"}, one).text_pair, std::nullopt);
  const ColumnChoice::Trained other = {.text = "text", .label = "label"};
  EXPECT_EQ(find_known({"sentence1", "sentence2", "label"}, other, "sentence1").text_pair,
            std::nullopt);
  EXPECT_THAT(
      [&] {
        find_known({"sentence1", "sentence2", "label"}, other);
      },
      ThrowsCode(Code::kBadData, "was trained on one text"));
  const ColumnChoice::Trained two = {.text = "premise", .text_pair = "hypothesis"};
  EXPECT_THAT(
      [&] {
        find_known({"text", "label"}, two);
      },
      ThrowsCode(Code::kBadData, "was trained on two texts"));
  EXPECT_THAT(
      [&] {
        find_known({"premise", "label"}, two);
      },
      ThrowsCode(Code::kBadData, "only \"premise\" is found"));
}

TEST(FindColumns, NamesFromFlagsBeatKnownNames) {
  const FoundColumns found =
      find({"text", "label", "a", "b", "c"}, {.text = "a", .text_pair = "b", .label = "c"});
  EXPECT_EQ(found.text, 2u);
  EXPECT_THAT(found.text_pair, Optional(Eq(3u)));
  EXPECT_THAT(found.labels, ElementsAre(4u));
}

TEST(FindColumns, AnAbsentColumnIsNamedWithItsFlagAndTheColumns) {
  EXPECT_THAT(
      [] {
        find({"text", "label"}, {.text = "txt"});
      },
      ThrowsCode(Code::kBadData,
                 R"(no column "txt" (--text-column); the columns are "text", "label")"));
  EXPECT_THAT(
      [] {
        find({"text", "label"}, {.label = "y"});
      },
      ThrowsCode(Code::kBadData, "--label-column"));
  EXPECT_THAT(
      [] {
        find({"text", "label"}, {.text_pair = "b"});
      },
      ThrowsCode(Code::kBadData, "--text-pair-column"));
}

TEST(FindColumns, AColumnThatCannotBeFoundIsAskedFor) {
  EXPECT_THAT([] { find({"a", "b", "label"}); }, ThrowsCode(Code::kBadData, "--text-column"));
  EXPECT_THAT([] { find({"text", "b"}); }, ThrowsCode(Code::kBadData, "--label-column"));
  EXPECT_THAT([] { find({}); }, ThrowsCode(Code::kBadData, "the table has no columns"));
}

TEST(FindColumns, PairsForEmbeddingsNeedAnotherTask) {
  const auto hint = [](const std::vector<std::string>& names) -> std::string {
    try {
      find(names);
    } catch (const Error& error) {
      return error.hint();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(hint({"anchor", "positive"}), HasSubstr("give --task similarity or reranking"));
  EXPECT_THAT(hint({"query", "pos", "neg"}), HasSubstr("give --task similarity or reranking"));
  EXPECT_THAT(hint({"anchor", "b", "c"}), Not(HasSubstr("--task")));
}

TEST(FindColumns, PredictionNeedsNoLabel) {
  EXPECT_THAT(find({"text", "b"}, {}, LabelNeed::kIfPresent).labels, IsEmpty());
  EXPECT_THAT(find({"text", "b"}, {.label = "c"}, LabelNeed::kIfPresent).labels, IsEmpty());
  EXPECT_THAT(find({"text", "c"}, {.label = "c"}, LabelNeed::kIfPresent).labels, ElementsAre(1u));
}

TEST(FindColumns, TasksHaveTheirOwnNames) {
  const FoundColumns words =
      find({"id", "tokens", "ner_tags"}, {}, LabelNeed::kRequired, Task::kTokenClassification);
  EXPECT_EQ(words.text, 1u);
  EXPECT_THAT(words.labels, ElementsAre(2u));
  const FoundColumns question = find({"id", "title", "context", "question", "answers"}, {},
                                     LabelNeed::kRequired, Task::kQuestionAnswering);
  EXPECT_EQ(question.text, 3u);
  EXPECT_THAT(question.text_pair, Optional(Eq(2u)));
  EXPECT_THAT(question.labels, ElementsAre(4u));
  EXPECT_THAT(question.id, Optional(Eq(0u)));
  EXPECT_THAT(
      find({"sentence1", "sentence2", "score"}, {}, LabelNeed::kRequired, Task::kRegression).labels,
      ElementsAre(2u));
}

TEST(FindColumns, SeveralLabelsMayHaveAColumnEach) {
  EXPECT_THAT(find({"text", "toxic", "rude", "other"}, {.label = "rude,toxic"},
                   LabelNeed::kRequired, Task::kMultiLabel)
                  .labels,
              ElementsAre(2u, 1u));
  EXPECT_THAT(
      [] {
        find({"text", "toxic"}, {.label = "toxic,rude"}, LabelNeed::kRequired, Task::kMultiLabel);
      },
      ThrowsCode(Code::kBadData, R"(no column "rude" (--label-column))"));
}

TEST(FindColumns, AWeightIsOnlyTakenWhenNamed) {
  EXPECT_EQ(find({"text", "label", "weight"}).weight, std::nullopt);
  EXPECT_THAT(find({"text", "label", "weight"}, {.weight = "weight"}).weight, Optional(Eq(2u)));
  EXPECT_THAT(
      [] {
        find({"text", "label"}, {.weight = "w"});
      },
      ThrowsCode(Code::kBadData, "--weight-column"));
}

TEST(FindColumns, NoColumnHasTwoRoles) {
  EXPECT_THAT(
      [] {
        find({"text", "label"}, {.text = "label"});
      },
      ThrowsCode(Code::kUsage, "\"label\" would be used twice"));
  EXPECT_THAT(
      [] {
        find({"text", "label"}, {.text_pair = "text"});
      },
      ThrowsCode(Code::kUsage, "\"text\" would be used twice"));
  EXPECT_THAT(
      [] {
        find({"text", "label"}, {.text_pair = "label"});
      },
      ThrowsCode(Code::kUsage, "\"label\" would be used twice"));
}

std::string tags_for(const std::string& what, const std::vector<std::string>& names) {
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back({name, {}});
  const FoundColumns found =
      find_columns(columns, {.tags = what}, LabelNeed::kRequired, Task::kTokenClassification);
  return names[found.labels.at(0)];
}

// The columns of conll2003 and of Universal Dependencies, as Hugging Face's data sets have them.
TEST(FindColumns, TheTaskNamesTheColumnOfTags) {
  const std::vector<std::string> conll = {"id", "tokens", "pos_tags", "chunk_tags", "ner_tags"};
  EXPECT_EQ(tags_for("pos", conll), "pos_tags");
  EXPECT_EQ(tags_for("chunk", conll), "chunk_tags");
  EXPECT_EQ(tags_for("ner", conll), "ner_tags");
  EXPECT_EQ(tags_for("", conll), "ner_tags");
  EXPECT_EQ(tags_for("pos", {"tokens", "upos", "feats"}), "upos");
  EXPECT_EQ(tags_for("pos", {"tokens", "tags"}), "tags");
  EXPECT_THAT(
      [] {
        tags_for("pos", {"tokens", "ner_tags"});
      },
      ThrowsCode(Code::kBadData, "no column is called pos_tags, pos, tags or labels"));
}

TEST(FindColumns, AllNegativesAreReadInTheOrderOfTheTable) {
  const auto negatives = [](const std::vector<std::string>& names) {
    std::vector<std::string> all = {"anchor", "positive"};
    all.insert(all.end(), names.begin(), names.end());
    return find(all, {}, LabelNeed::kIgnored, Task::kInBatchNegatives).others;
  };
  for (const char* name : {"neg", "Hard_Negative", "negatives", "hard_negatives", "Negative 1",
                           "negative_passages", "hard_neg_1", "hardneg"}) {
    EXPECT_THAT(negatives({name}), ElementsAre(2u)) << name;
  }
  EXPECT_THAT(negatives({"negation", "source"}), IsEmpty());
  EXPECT_THAT(negatives({"neg_1", "other", "neg_0"}), ElementsAre(2u, 4u));
  EXPECT_THAT(negatives({"neg", "neg_scores", "neg_id"}), ElementsAre(2u));
  for (const char* name : {"neg_score_1", "negative_id_1", "negative_type", "num_negatives",
                           "negative_title", "negative_1_rank"}) {
    EXPECT_THAT(negatives({"negative_1", name}), ElementsAre(2u)) << name;
  }
  EXPECT_THAT(negatives({"negative_title"}), ElementsAre(2u));
}

TEST(FindColumns, AnIdIsNoText) {
  for (const char* name : {"id", "", "Unnamed: 0", "review_id", "idx"}) {
    const std::vector<Column> columns = {{name, {}}, {"label", {}}};
    EXPECT_THAT([&] { find_columns(columns, {}, LabelNeed::kRequired); },
                ThrowsCode(Code::kBadData, "no column has a usual name for texts"))
        << name;
  }
  const std::vector<Column> columns = {{"id", {}}, {"label", {}}};
  EXPECT_EQ(find_columns(columns, {.text = "id"}, LabelNeed::kRequired).text, 0u);
}

TEST(FindColumns, ARefusalSaysWhatTheFirstLineMayBe) {
  const auto find = [](std::vector<Column> columns) {
    return [columns] { find_columns(columns, {}, LabelNeed::kRequired); };
  };
  EXPECT_THAT(find({{"text~label", {}}}), ThrowsCode(Code::kBadData, "--delimiter names"));
  EXPECT_THAT(find({{"<!DOCTYPE html>", {}}}), ThrowsCode(Code::kBadData, "a web page"));
  EXPECT_THAT(find({{"{\"text\": \"a\"", {}}, {"\"label\": 1}", {}}}),
              ThrowsCode(Code::kBadData, "is called .jsonl"));
  EXPECT_THAT(find({{"# made by us", {}}}), ThrowsCode(Code::kBadData, "a comment, remove it"));
  EXPECT_THAT(find({{"a fine day", {}}, {"1", {}}}),
              ThrowsCode(Code::kBadData, "write a line with the names of the columns"));
  EXPECT_THAT(find({{"text", {}}, {"joy", {}}, {"fear", {}}}),
              ThrowsCode(Code::kBadData, "or several, each with a 0 or 1 for a label"));
  EXPECT_THAT(find({{"text", {}}}), ThrowsCode(Code::kBadData, "a table is called .csv or .tsv"));
  EXPECT_THAT(find({{"text\x01label", {}}}), ThrowsCode(Code::kBadData, "--delimiter names"));
  EXPECT_THAT(
      [] {
        find_columns(std::vector<Column>{{"text", {}}, {"entities", {}}}, {.tags = "ner"},
                     LabelNeed::kRequired, Task::kTokenClassification);
      },
      ThrowsCode(Code::kBadData, "spans in \"entities\" are read as"));
}

}  // namespace
}  // namespace berth
