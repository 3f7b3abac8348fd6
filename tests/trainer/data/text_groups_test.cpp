// Rows of texts that are compared: from tables through features to batches.

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

std::vector<Column> named_columns(const std::vector<std::string>& names) {
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back({.name = name, .categories = {}});
  return columns;
}

struct GroupData {
  GroupData(const std::vector<std::string>& names, std::vector<Row> rows, double max_similarity = 1,
            bool may_lack_labels = true, int64_t max_negatives = 0,
            Task asked = Task::kSimilarity) {
    TableLoader loader(
        {.task = asked, .may_lack_labels = may_lack_labels, .max_negatives = max_negatives});
    loader.append_rows(std::make_unique<RowsInMemory>(named_columns(names), std::move(rows)));
    task = loader.task();
    columns = loader.columns();
    table = loader.finish();
    maker = make_feature_maker(
        {.task = task, .max_seq_length = 6, .max_similarity = max_similarity}, tokenizer);
    std::vector<uint32_t> all(table->rows());
    std::iota(all.begin(), all.end(), 0u);
    data = std::make_unique<Dataset>(*table, all, task, *maker, /*labelled=*/true);
  }
  PackedBatch batch() {
    std::vector<int64_t> all(static_cast<size_t>(data->size()));
    std::iota(all.begin(), all.end(), 0);
    return pack(*data, all);
  }

  LetterTokenizer tokenizer;
  Task task{};
  ColumnChoice columns;
  std::unique_ptr<ExampleTable> table;
  std::unique_ptr<FeatureMaker> maker;
  std::unique_ptr<Dataset> data;
};

// The micro-batches of several ranks, put together.
std::vector<PackedBatch> shared_micro_batches(Dataset& data, BatchOptions options, int64_t ranks) {
  std::vector<PackedBatch> all;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    options.rank = rank;
    options.ranks = ranks;
    const UpdateBatch update = Batcher(options, data).next({});
    if (rank == 0) all.resize(update.micro_batches.size());
    EXPECT_EQ(update.micro_batches.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const PackedBatch& part = update.micro_batches[i];
      PackedBatch& whole = all[i];
      if (part.num_sequences() == 0) continue;
      if (whole.input_ids.empty()) {
        whole.first_token = part.first_token;
        whole.first_sequence = part.first_sequence;
      }
      EXPECT_EQ(part.first_token, whole.first_token + whole.input_ids.size());
      EXPECT_EQ(part.first_sequence, whole.first_sequence + whole.cu_seqlens.size() - 1);
      const int32_t before = whole.cu_seqlens.back();
      whole.input_ids.insert(whole.input_ids.end(), part.input_ids.begin(), part.input_ids.end());
      for (size_t b = 1; b < part.cu_seqlens.size(); ++b) {
        whole.cu_seqlens.push_back(before + part.cu_seqlens[b]);
      }
    }
  }
  return all;
}

Cell cell_of(const std::string& value) { return Cell(std::in_place_type<std::string>, value); }

TEST(TextGroups, EachTextIsASequence) {
  GroupData data(
      {"sentence1", "sentence2", "score"},
      {{cell_of("a"), cell_of("bc"), Cell(5.0)}, {cell_of("abcdefgh"), cell_of("d"), Cell(1.0)}},
      /*max_similarity=*/5);
  EXPECT_EQ(data.task, Task::kSimilarity);
  const PackedBatch batch = data.batch();
  EXPECT_EQ(batch.sequences_per_example, 2);
  EXPECT_EQ(batch.num_sequences(), 4);
  EXPECT_EQ(batch.num_examples(), 2);
  // With two special tokens each, and at most six tokens.
  EXPECT_THAT(batch.cu_seqlens, ElementsAre(0, 3, 7, 13, 16));
  EXPECT_THAT(batch.position_ids, ElementsAre(0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 0, 1, 2));
  EXPECT_THAT(std::get<PackedBatch::Scores>(batch.labels).values, ElementsAre(1.0f, 0.2f));
  EXPECT_EQ(data.data->length(0), 7);
}

TEST(TextGroups, PromptsStandBeforeTheTexts) {
  GroupData data({"anchor", "positive", "negative"}, {{cell_of("a"), cell_of("b"), cell_of("c")}});
  const auto made = [&](Task task, const std::vector<std::string>& texts) {
    const auto maker = make_feature_maker({.task = task,
                                           .max_seq_length = 16,
                                           .labelled = false,
                                           .first_prompt = "xy",
                                           .other_prompt = "z"},
                                          data.tokenizer);
    Example example;
    example.texts = texts;
    return maker->make(example).front().input_ids;
  };
  const auto bare = [&](Task task, const std::vector<std::string>& texts) {
    const auto maker =
        make_feature_maker({.task = task, .max_seq_length = 16, .labelled = false}, data.tokenizer);
    Example example;
    example.texts = texts;
    return maker->make(example).front().input_ids;
  };
  EXPECT_EQ(made(Task::kInBatchNegatives, {"a", "b", "c"}),
            bare(Task::kInBatchNegatives, {"xya", "zb", "zc"}));
  EXPECT_EQ(made(Task::kTextEmbedding, {"a"}), bare(Task::kTextEmbedding, {"xya"}));
  EXPECT_EQ(made(Task::kTextEmbedding, {"a", "b"}), bare(Task::kTextEmbedding, {"xya", "b"}))
      << "both texts are one sequence";
  const auto maker = make_feature_maker(
      {.task = Task::kTextEmbedding, .labelled = false, .first_prompt = "x"}, data.tokenizer);
  Example ids;
  ids.token_ids = {1, 2, 3};
  EXPECT_THAT([&] { maker->make(ids); }, ThrowsCode(Code::kBadData, "the row has token ids"));
}

TEST(TextGroups, RowsWithoutLabelsFindTheirPlaceInTheBatch) {
  GroupData data({"anchor", "positive", "negative"}, {{cell_of("a"), cell_of("b"), cell_of("c")},
                                                      {cell_of("d"), cell_of("e"), cell_of("f")}});
  EXPECT_EQ(data.task, Task::kInBatchNegatives);
  EXPECT_THAT(data.columns.others, ElementsAre("negative"));
  const PackedBatch batch = data.batch();
  EXPECT_EQ(batch.sequences_per_example, 3);
  EXPECT_THAT(std::get<PackedBatch::Classes>(batch.labels), ElementsAre(0, 1));
}

std::vector<std::string> texts_of(GroupData& data, uint32_t row) {
  return data.table->read(row).texts;
}

TEST(TextGroups, AllColumnsOfNegativesAreRead) {
  GroupData data({"negative_2", "query", "positive", "negative_1", "neg_scores"},
                 {{cell_of("d"), cell_of("a"), cell_of("b"), cell_of("c"), cell_of("[1]")}});
  EXPECT_THAT(data.columns.others, ElementsAre("negative_2", "negative_1"));
  EXPECT_THAT(texts_of(data, 0), ElementsAre("a", "b", "d", "c"));
  EXPECT_EQ(data.batch().sequences_per_example, 4);
}

TEST(TextGroups, NegativesAndLabelsTogetherNeedAWord) {
  const auto load = [](Task task, const ColumnChoice& choice, bool refuses) {
    TableLoader loader({.task = task, .columns = choice, .refuses_both_kinds = refuses});
    loader.append_rows(std::make_unique<RowsInMemory>(
        named_columns({"query", "positive", "negative", "score"}),
        std::vector<Row>{{cell_of("a"), cell_of("b"), cell_of("c"), Cell(0.5)}}));
    return loader.task();
  };
  for (const auto& [task, hint] : {std::pair(Task::kSimilarity, "--similarity-loss margin_mse"),
                                   std::pair(Task::kReranking, "--reranking-loss margin_mse")}) {
    EXPECT_THAT([&] { load(task, {}, true); }, ThrowsCode(Code::kBadData, hint));
    EXPECT_EQ(load(task, {.label = "score"}, true), task);
    EXPECT_EQ(load(task, {}, false), task);
  }
  EXPECT_EQ(load(Task::kInBatchNegatives, {}, true), Task::kInBatchNegatives);
}

TEST(TextGroups, LabelsBesideTextsAloneMustNotContradict) {
  const auto load = [](const std::vector<Cell>& labels, const char* name = "label",
                       const char* second = "positive") {
    std::vector<Row> rows;
    for (const Cell& label : labels) rows.push_back({cell_of("a"), cell_of("b"), label});
    TableLoader loader({.task = Task::kInBatchNegatives});
    loader.append_rows(
        std::make_unique<RowsInMemory>(named_columns({"query", second, name}), std::move(rows)));
    loader.finish();
    size_t warnings = 0;
    for (const Finding& found : loader.findings()) {
      warnings += found.text.find("belong together") != std::string::npos;
    }
    return warnings;
  };
  const auto refused = ThrowsCode(Code::kBadData, "texts that belong together");
  EXPECT_THAT([&] { load({Cell(int64_t{1}), Cell(int64_t{0})}); }, refused);
  EXPECT_THAT([&] { load({cell_of("entailment"), cell_of("contradiction")}, "labels"); }, refused);
  EXPECT_THAT([&] { load({Cell(true), Cell(false)}, "relevance"); }, refused);
  EXPECT_EQ(load({Cell(int64_t{1}), Cell(int64_t{1})}), 0u);
  EXPECT_EQ(load({Cell(0.9), Cell(0.2)}, "score"), 1u);  // a retriever's score, perhaps
  EXPECT_EQ(load({Cell(int64_t{1}), Cell(int64_t{0})}, "number"), 0u);
}

// A list of texts, each with its label in a second list, holds wrong ones.
TEST(TextGroups, ListsOfTextsWithListsOfLabelsAreRefused) {
  const std::vector<Column> columns = named_columns({"query", "pos", "labels"});
  const auto load = [&](const char* labels) {
    TableLoader loader({.task = Task::kInBatchNegatives});
    loader.append_rows(std::make_unique<RowsInMemory>(
        columns, std::vector<Row>{{cell_of("a"), cell_of(R"(["b", "c"])"), cell_of(labels)}}));
    return loader.finish()->rows();
  };
  EXPECT_THAT([&] { load("[1, 0]"); }, ThrowsCode(Code::kBadData, "one for each text"));
  EXPECT_EQ(load("1"), 2u);
}

// Rows to evaluate on have negatives, labels or neither, and each is read as what it is.
TEST(TextGroups, RowsMayBeOfTheKindThatTheyHave) {
  const auto load = [](const std::vector<std::string>& names, Row row,
                       const std::string& unread_label = "") {
    TableLoader loader(
        {.task = Task::kSimilarity,
         .columns = {.unread_label = unread_label,
                     .trained = ColumnChoice::Trained{.text = "query", .text_pair = "positive"}},
         .prefers_groups = true,
         .refuses_both_kinds = true});
    loader.append_rows(
        std::make_unique<RowsInMemory>(named_columns(names), std::vector<Row>{std::move(row)}));
    const Task task = loader.task();
    return std::pair(task, loader.finish()->read(0).texts.size());
  };
  const Cell text = cell_of("a"), score(0.5);
  EXPECT_EQ(load({"sentence1", "sentence2", "score"}, {text, text, score}),
            std::pair(Task::kSimilarity, size_t{2}));
  EXPECT_EQ(load({"query", "positive", "number"}, {text, text, score}),
            std::pair(Task::kInBatchNegatives, size_t{2}));
  EXPECT_EQ(load({"query", "positive", "negative", "score"}, {text, text, text, score}),
            std::pair(Task::kInBatchNegatives, size_t{3}));
  EXPECT_EQ(load({"query", "positive", "score"}, {text, text, score}, "score"),
            std::pair(Task::kInBatchNegatives, size_t{2}));
}

TEST(TextGroups, NegativesThatAreReplacedAreNotRead) {
  TableLoader loader({.task = Task::kSimilarity, .ignores_negatives = true});
  loader.append_rows(std::make_unique<RowsInMemory>(
      named_columns({"query", "pos", "neg"}),
      std::vector<Row>{{cell_of("a"), cell_of(R"(["b"])"), cell_of(R"(["c"])")},
                       {cell_of("d"), cell_of(R"(["e"])"), cell_of(R"(["f", "g"])")}}));
  EXPECT_THAT(loader.columns().others, ElementsAre("neg"));
  EXPECT_EQ(loader.finish()->read(1).texts.size(), 2u);
}

TEST(TextGroups, PredictionsLeaveNoNegativeOut) {
  const auto load = [](Task task, const ColumnChoice& choice) {
    TableLoader loader({.task = task, .columns = choice, .need = LabelNeed::kIgnored});
    loader.append_rows(std::make_unique<RowsInMemory>(
        named_columns({"query", "positive", "negative_1"}),
        std::vector<Row>{{cell_of("a"), cell_of("b"), cell_of("c")}}));
    return loader.finish()->read(0).texts.size();
  };
  for (const Task task : {Task::kReranking, Task::kSimilarity}) {
    EXPECT_THAT([&] { load(task, {}); }, ThrowsCode(Code::kBadData, "write a row for each"));
    EXPECT_EQ(load(task, {.text_pair = "positive"}), 2u);
  }
}

// A retriever's score may stand beside the judgement of a passage.
TEST(RerankingRows, ARelevanceOutranksAScore) {
  GroupData data({"query", "passage", "score", "relevance"},
                 {{cell_of("a"), cell_of("b"), Cell(17.5), Cell(int64_t{1})}}, 1, true, 0,
                 Task::kReranking);
  EXPECT_EQ(data.columns.label, "relevance");
  EXPECT_EQ(data.table->read(0).score, 1);
}

// Where the format has no types, columns of such names hold lists.
std::vector<Row> flag_embedding_rows() {
  return {{cell_of("a"), cell_of(R"(["b"])"), cell_of(R"(["c", "d", "e"])")},
          {cell_of("f"), cell_of(R"(["g", "h"])"), cell_of(R"(["i", "j"])")},
          {cell_of("k"), cell_of(R"(["l"])"), cell_of(R"(["m", "n"])")}};
}

TEST(TextGroups, ListsAreReadAndEachPositiveMakesAnExample) {
  GroupData data({"query", "pos", "neg"}, flag_embedding_rows(), 1, true, /*max_negatives=*/2);
  ASSERT_EQ(data.table->rows(), 4u);
  EXPECT_THAT(texts_of(data, 0), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(texts_of(data, 1), ElementsAre("f", "g", "i", "j"));
  EXPECT_THAT(texts_of(data, 2), ElementsAre("f", "h", "i", "j"));
  EXPECT_THAT(texts_of(data, 3), ElementsAre("k", "l", "m", "n"));
  EXPECT_EQ(data.table->source_row(1), 1u);
  EXPECT_EQ(data.table->source_row(2), 1u);
  EXPECT_EQ(data.table->source_row(3), 2u);
}

// The scores that the rows of a table have, for losses that learn from a teacher.
std::vector<std::vector<float>> scores_of(const std::vector<std::string>& columns,
                                          std::vector<Row> rows, int64_t max_negatives = 0) {
  TableLoader loader({.task = Task::kInBatchNegatives,
                      .text_scores = LabelNeed::kRequired,
                      .max_negatives = max_negatives});
  loader.append_rows(std::make_unique<RowsInMemory>(named_columns(columns), std::move(rows)));
  const auto table = loader.finish();
  std::vector<std::vector<float>> scores;
  for (uint32_t row = 0; row < table->rows(); ++row) {
    scores.push_back(table->read(row).text_scores);
  }
  return scores;
}

TEST(TextGroups, ATeachersScoresAreRead) {
  const std::vector<std::string> one = {"query", "positive", "negative", "score"};
  const std::vector<Cell> texts = {cell_of("a"), cell_of("b"), cell_of("c")};
  // A number is how much higher the positive's score is.
  EXPECT_THAT(scores_of(one, {{texts[0], texts[1], texts[2], Cell(2.5)}}),
              ElementsAre(ElementsAre(0, -2.5f)));
  EXPECT_THAT(scores_of(one, {{texts[0], texts[1], texts[2], cell_of("[3, -1.5]")}}),
              ElementsAre(ElementsAre(3, -1.5f)));
  const std::vector<std::string> lists = {"query", "pos", "neg", "pos_scores", "neg_scores"};
  const Row listed = {cell_of("a"), cell_of(R"(["b", "c"])"), cell_of(R"(["d", "e"])"),
                      cell_of("[0.9, 0.8]"), cell_of("[0.2, 0.1]")};
  EXPECT_THAT(scores_of(lists, {listed}),
              ElementsAre(ElementsAre(0.9f, 0.2f, 0.1f), ElementsAre(0.8f, 0.2f, 0.1f)));
  EXPECT_THAT(scores_of(lists, {listed}, /*max_negatives=*/1),
              ElementsAre(ElementsAre(0.9f, 0.2f), ElementsAre(0.8f, 0.2f)));
}

// Each update has rows of one source, and says which. A resumed job takes the same updates.
TEST(TextGroups, UpdatesTakeRowsOfOneSource) {
  std::vector<Row> rows;
  for (int i = 0; i < 7; ++i) {
    rows.push_back({cell_of(std::string(1, static_cast<char>('a' + i))), cell_of("b")});
  }
  GroupData data({"anchor", "positive"}, std::move(rows));
  data.data->set_sources({{.rows = 4}, {.rows = 3}});
  const BatchOptions options{.batch_size = 2, .micro_batches = 2};
  Batcher batcher(options, *data.data);
  EXPECT_EQ(batcher.count(0).updates, 4);
  std::vector<UpdateBatch> updates;
  for (DataCursor cursor; updates.size() < 8; cursor = updates.back().after) {
    updates.push_back(batcher.next(cursor));
  }
  std::vector<int64_t> of_sources(2);
  for (const UpdateBatch& update : updates) {
    for (const PackedBatch& batch : update.micro_batches) {
      EXPECT_EQ(batch.source, update.micro_batches.front().source);
      of_sources[static_cast<size_t>(batch.source)] += batch.num_examples();
    }
    Batcher resumed(options, *data.data);
    const UpdateBatch again = resumed.next(update.begin);
    EXPECT_EQ(again.after, update.after);
    ASSERT_EQ(again.micro_batches.size(), update.micro_batches.size());
    EXPECT_EQ(again.micro_batches[0].input_ids, update.micro_batches[0].input_ids);
  }
  EXPECT_THAT(of_sources, ElementsAre(8, 6));
}

// A rank without rows of a micro-batch computes the same loss as the others.
TEST(TextGroups, RanksWithoutRowsKnowTheSource) {
  std::vector<Row> rows(5, {cell_of("a"), cell_of("b")});
  GroupData data({"anchor", "positive"}, std::move(rows));
  data.data->set_sources({{.rows = 2}, {.rows = 3}});
  for (int64_t rank = 0; rank < 4; ++rank) {
    Batcher batcher({.batch_size = 3, .rank = rank, .ranks = 4}, *data.data);
    for (DataCursor cursor; cursor.epoch == 0;) {
      const UpdateBatch update = batcher.next(cursor);
      ASSERT_EQ(update.micro_batches.size(), 1u);
      const PackedBatch& batch = update.micro_batches[0];
      EXPECT_EQ(batch.source, update.examples == 3 ? 1 : 0) << rank;
      EXPECT_EQ(batch.sequences_per_example, 2) << rank;
      cursor = update.after;
    }
  }
}

// Cross-encoders learn the scores of all passages of a row.
TEST(RerankingRows, HoldTheScoresOfATeacher) {
  TableLoader loader({.task = Task::kListReranking, .text_scores = LabelNeed::kRequired});
  loader.append_rows(std::make_unique<RowsInMemory>(
      named_columns({"query", "pos", "neg", "pos_scores", "neg_scores"}),
      std::vector<Row>{{cell_of("a"), cell_of(R"(["b", "e"])"), cell_of(R"(["c", "d"])"),
                        cell_of("[0.5, 2]"), cell_of("[-1, 0.25]")}}));
  const auto table = loader.finish();
  const LetterTokenizer tokenizer;
  const auto maker = make_feature_maker({.task = Task::kListReranking}, tokenizer);
  Dataset data(*table, {0, 1}, Task::kListReranking, *maker, /*labelled=*/true);
  const PackedBatch batch = pack(data, std::vector<int64_t>{0, 1});
  EXPECT_EQ(batch.num_examples(), 2);
  EXPECT_THAT(batch.text_scores, ElementsAre(0.5f, -1.0f, 0.25f, 2.0f, -1.0f, 0.25f));
}

TEST(TextGroups, OddScoresOfATeacherAreBadRows) {
  const std::vector<std::string> one = {"query", "positive", "negative", "score"};
  const auto with = [&](const char* score) {
    return [&one, score] {
      scores_of(one, {{cell_of("a"), cell_of("b"), cell_of("c"), cell_of(score)}});
    };
  };
  EXPECT_THAT(with("[1, 2, 3]"), ThrowsCode(Code::kBadData, "has 3 scores for 2 texts"));
  EXPECT_THAT(with("[1, \"x\"]"), ThrowsCode(Code::kBadData, "is not a number"));
  EXPECT_THAT(with("high"), ThrowsCode(Code::kBadData, "\"high\""));
  EXPECT_THAT(with(""), ThrowsCode(Code::kBadData, "has 0 scores"));
  EXPECT_THAT(
      ([] {
        scores_of({"query", "positive", "negative"}, {{cell_of("a"), cell_of("b"), cell_of("c")}});
      }),
      ThrowsCode(Code::kBadData, "no column has a usual name for a teacher's scores"));
}

TEST(TextGroups, AllRowsHaveTheSameNumberOfNegatives) {
  EXPECT_THAT(([] {
                GroupData({"query", "pos", "neg"}, flag_embedding_rows());
              }),
              ThrowsCode(Code::kBadData, "the row has 2 negatives, and the first row has 3"));
}

TEST(TextGroups, AListWithoutAPositiveIsABadRow) {
  EXPECT_THAT(([] {
                GroupData({"query", "pos"}, {{cell_of("a"), cell_of("[]")}});
              }),
              ThrowsCode(Code::kBadData, "its list is empty"));
}

TEST(TextGroups, ALabelBelongsToTwoTexts) {
  EXPECT_THAT(
      ([] {
        GroupData({"query", "pos", "score"}, {{cell_of("a"), cell_of(R"(["b", "c"])"), Cell(1.0)}});
      }),
      ThrowsCode(Code::kBadData, "the row has 2 texts to compare with"));
}

TEST(TextGroups, ContrastiveLabelsAreZeroOrOne) {
  GroupData data({"sentence1", "sentence2", "score"}, {{cell_of("a"), cell_of("b"), Cell(0.5)}});
  const auto marks = make_feature_maker(
      {.task = data.task, .max_seq_length = 6, .similarities_are_marks = true}, data.tokenizer);
  EXPECT_THAT([&] { make_features(*data.table, *marks, 0); },
              ThrowsCode(Code::kBadData, "the label 0.5 is neither 0 nor 1"));
}

TEST(TextGroups, PlacesBeginAnewInEachMicroBatch) {
  std::vector<Row> rows(8, {cell_of("a"), cell_of("b")});
  GroupData data({"anchor", "positive"}, std::move(rows));
  Batcher batcher({.batch_size = 8, .micro_batches = 2}, *data.data);
  const UpdateBatch update = batcher.next({});
  ASSERT_EQ(update.micro_batches.size(), 2u);
  for (const PackedBatch& batch : update.micro_batches) {
    EXPECT_THAT(std::get<PackedBatch::Classes>(batch.labels), ElementsAre(0, 1, 2, 3));
  }
  EXPECT_EQ(update.micro_batches[1].first_sequence, 8u);
}

TEST(TextGroups, LabelsThatAreRequiredMustBeThere) {
  EXPECT_THAT(
      [] {
        GroupData({"anchor", "positive"}, {{cell_of("a"), cell_of("b")}}, 1,
                  /*may_lack_labels=*/false);
      },
      ThrowsCode(Code::kBadData, "labels"));
}

TEST(TextGroups, ALabelBeyondTheLargestIsRefused) {
  GroupData data({"sentence1", "sentence2", "score"}, {{cell_of("a"), cell_of("b"), Cell(5.0)}});
  EXPECT_THAT([&] { data.batch(); }, ThrowsCode(Code::kBadData, "is not from -1 to 1"));
}

TEST(TextGroups, ATextThatIsMissingIsABadRow) {
  EXPECT_THAT(
      [] {
        GroupData({"anchor", "positive", "negative"}, {{cell_of("a"), cell_of("b"), Cell()}});
      },
      ThrowsCode(Code::kBadData, "negative"));
}

// Rows for a network that reads a query with each passage.
GroupData reranking(const std::vector<std::string>& names, std::vector<Row> rows) {
  return GroupData(names, std::move(rows), 1, true, 0, Task::kReranking);
}

TEST(RerankingRows, APairIsOneSequence) {
  GroupData rows =
      reranking({"query", "passage", "label"},
                {{cell_of("a"), cell_of("b"), Cell(1.0)}, {cell_of("a"), cell_of("c"), Cell(0.0)}});
  EXPECT_EQ(rows.task, Task::kReranking);
  const PackedBatch batch = rows.batch();
  EXPECT_EQ(batch.sequences_per_example, 1);
  EXPECT_EQ(batch.num_examples(), 2);
  EXPECT_THAT(std::get<PackedBatch::Scores>(batch.labels).values, ElementsAre(1.0f, 0.0f));
  const Encoding pair = rows.tokenizer.encode("a", "b", 6);
  EXPECT_EQ(rows.data->features(0).input_ids, pair.input_ids);
  EXPECT_EQ(rows.data->features(0).token_type_ids, pair.token_type_ids);
}

TEST(RerankingRows, EachPassageOfARowIsASequence) {
  GroupData data = reranking({"query", "positive", "negative_1", "negative_2"},
                             {{cell_of("a"), cell_of("b"), cell_of("c"), cell_of("d")},
                              {cell_of("e"), cell_of("f"), cell_of("g"), cell_of("h")}});
  EXPECT_EQ(data.task, Task::kListReranking);
  const PackedBatch batch = data.batch();
  EXPECT_EQ(batch.sequences_per_example, 3);
  EXPECT_EQ(batch.num_sequences(), 6);
  EXPECT_EQ(batch.num_examples(), 2);
}

TEST(RerankingRows, LabelsAreProbabilitiesUnlessNumbersAreLearnt) {
  GroupData data =
      reranking({"query", "passage", "score"}, {{cell_of("a"), cell_of("b"), Cell(4.0)}});
  EXPECT_EQ(make_features(*data.table, *data.maker, 0)[0].targets, std::vector<float>{4});
  const auto probabilities =
      make_feature_maker({.task = data.task, .relevances_are_probabilities = true}, data.tokenizer);
  EXPECT_THAT([&] { make_features(*data.table, *probabilities, 0); },
              ThrowsCode(Code::kBadData, "the label 4 is not from 0 to 1"));
}

// Where texts of different rows are compared, ranks must have parts of the same micro-batches.
TEST(TextGroups, RanksShareEachMicroBatch) {
  std::vector<Row> rows;
  for (int i = 0; i < 11; ++i) {
    const std::string text(static_cast<size_t>(1 + i * 5 % 4), static_cast<char>('a' + i));
    rows.push_back({cell_of(text), cell_of(text + "x")});
  }
  GroupData data({"anchor", "positive"}, std::move(rows), 1, true, 0, Task::kInBatchNegatives);
  for (const int64_t budget : {0, 60}) {
    const BatchOptions options{.batch_size = 8, .token_budget = budget, .micro_batches = 3};
    const std::vector<PackedBatch> alone = shared_micro_batches(*data.data, options, 1);
    EXPECT_GT(alone.size(), 1u);
    for (const int64_t ranks : {2, 3, 9}) {
      const std::vector<PackedBatch> together = shared_micro_batches(*data.data, options, ranks);
      ASSERT_EQ(together.size(), alone.size());
      for (size_t i = 0; i < alone.size(); ++i) {
        EXPECT_EQ(together[i].input_ids, alone[i].input_ids) << ranks;
        EXPECT_EQ(together[i].cu_seqlens, alone[i].cu_seqlens) << ranks;
        EXPECT_EQ(together[i].first_token, alone[i].first_token) << ranks;
        EXPECT_EQ(together[i].first_sequence, alone[i].first_sequence) << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace berth
