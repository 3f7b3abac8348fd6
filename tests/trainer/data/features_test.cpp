#include "trainer/data/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/letter_data.h"
#include "tests/support/throws_code.h"
#include "trainer/data/batcher.h"
#include "trainer/data/dataset.h"
#include "trainer/data/example_table.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class DocumentFeaturesTest : public testing::Test {
 protected:
  std::vector<Features> make(const std::string& text, int32_t max_seq_length) {
    const auto maker = make_feature_maker(
        {.task = Task::kMaskedLm, .max_seq_length = max_seq_length, .labelled = false}, tokenizer_);
    return maker->make({.texts = {text}});
  }

  LetterTokenizer tokenizer_;
};

TEST_F(DocumentFeaturesTest, AShortDocumentIsOneSequence) {
  const std::vector<Features> made = make("abc", 8);
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_THAT(made[0].input_ids, ElementsAre(1, 3, 4, 5, 2));
  EXPECT_THAT(made[0].token_type_ids, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(made[0].classes, IsEmpty());
}

TEST_F(DocumentFeaturesTest, ALongDocumentBecomesSequencesThatShareNothing) {
  const std::vector<Features> made = make("abcdefg", 5);
  ASSERT_THAT(made, SizeIs(3));
  EXPECT_THAT(made[0].input_ids, ElementsAre(1, 3, 4, 5, 2));
  EXPECT_THAT(made[1].input_ids, ElementsAre(1, 6, 7, 8, 2));
  EXPECT_THAT(made[2].input_ids, ElementsAre(1, 9, 2));
}

TEST_F(DocumentFeaturesTest, ADocumentThatFillsItsSequencesLeavesNoEmptyOne) {
  EXPECT_THAT(make("abcdef", 5), SizeIs(2));
  EXPECT_THAT(make("", 5), SizeIs(1));
}

TEST_F(DocumentFeaturesTest, RefusesSequencesWithoutRoomForText) {
  EXPECT_THAT([&] { make("abc", 2); }, ThrowsCode(Code::kUsage, "--max-seq-length"));
}

TEST_F(DocumentFeaturesTest, ADatasetCountsTheSequencesOfItsDocuments) {
  const auto table = table_of({"ab", "abcdefg", "c"});
  const auto maker = make_feature_maker(
      {.task = Task::kMaskedLm, .max_seq_length = 5, .labelled = false}, tokenizer_);
  Dataset data(*table, {0, 1, 2}, Task::kMaskedLm, *maker, /*labelled=*/false);
  EXPECT_EQ(data.size(), 5);
  EXPECT_EQ(data.row(3), 1u);
  EXPECT_THAT(data.features(3).input_ids, ElementsAre(1, 9, 2));
}

TEST(RowTargets, ArePackedInTheOrderOfTheBatch) {
  const LetterData letters(3, 16, /*labelled=*/false);
  const auto maker = make_feature_maker(
      {.task = Task::kEmbeddingDistillation, .max_seq_length = 16}, letters.tokenizer);
  Dataset data(*letters.data->table, letters.all_rows(), Task::kEmbeddingDistillation, *maker,
               /*labelled=*/true);
  RowTargets targets(3, 2, DType::kF32);
  for (uint32_t row = 0; row < 3; ++row) {
    targets.set(row, std::vector<float>{static_cast<float>(row), -0.5f});
  }
  data.set_targets(targets);
  const PackedBatch batch = pack(data, std::vector<int64_t>{2, 0});
  EXPECT_THAT(std::get<PackedBatch::Scores>(batch.labels).values, ElementsAre(2, -0.5, 0, -0.5));
  EXPECT_THAT(batch.weights, IsEmpty());
}

// A document of two windows has a vector of each of their tokens, one after the other.
TEST(RowTargets, OfTokensAreThoseOfTheSameWindow) {
  const auto table = table_of({"ab", "abcdefg", "c"});
  const LetterTokenizer tokenizer;
  constexpr Task kTask = Task::kHiddenStateDistillation;
  const auto maker = make_feature_maker({.task = kTask, .max_seq_length = 7}, tokenizer);
  Dataset data(*table, {0, 1}, kTask, *maker, /*labelled=*/true);
  ASSERT_EQ(data.size(), 3);
  RowTargets targets(std::vector<uint32_t>{4, 7 + 4, 0}, 2, DType::kF32);
  EXPECT_EQ(targets.row_bytes(1), 11 * 2 * sizeof(float));
  EXPECT_EQ(targets.row_bytes(2), 0u);
  for (uint32_t row = 0; row < 2; ++row) {
    for (size_t token = 0; token < (row == 0 ? 4 : 11); ++token) {
      targets.set(row, std::vector<float>{static_cast<float>(100 * row + token), -0.5f}, token);
    }
  }
  data.set_targets(targets);
  EXPECT_EQ(data.first_vector(0), 0u);
  EXPECT_EQ(data.first_vector(1), 0u);
  EXPECT_EQ(data.first_vector(2), 7u);
  const PackedBatch batch = pack(data, std::vector<int64_t>{2, 0});
  EXPECT_THAT(std::get<PackedBatch::Scores>(batch.labels).values,
              ElementsAre(107, -0.5, 108, -0.5, 109, -0.5, 110, -0.5,  //
                          0, -0.5, 1, -0.5, 2, -0.5, 3, -0.5));
  EXPECT_THAT(batch.weights, IsEmpty());
}

TEST(RowTargets, EveryTokenHasTheWeightOfItsRow) {
  ExampleTable table;
  table.append({.texts = {"ab"}, .weight = 3});
  table.finish();
  const LetterTokenizer tokenizer;
  constexpr Task kTask = Task::kHiddenStateDistillation;
  const auto maker = make_feature_maker({.task = kTask, .max_seq_length = 7}, tokenizer);
  Dataset data(table, {0}, kTask, *maker, /*labelled=*/true);
  const RowTargets targets(std::vector<uint32_t>{4}, 1, DType::kBF16);
  data.set_targets(targets);
  EXPECT_THAT(pack(data, std::vector<int64_t>{0}).weights, ElementsAre(3, 3, 3, 3));
}

TEST(RowTargets, AreRoundedToBf16) {
  RowTargets targets(1, 1, DType::kBF16);
  targets.set(0, std::vector<float>{1.003f});
  std::vector<float> read;
  targets.append_to(0, read);
  EXPECT_THAT(read, ElementsAre(1.0f));
  EXPECT_EQ(targets.row_bytes(0), 2u);
}

TEST(RowTargets, ATeachersLogitsStandBesideTheClasses) {
  const LetterData letters(3);
  RowTargets logits(3, 2, DType::kF32);
  for (uint32_t row = 0; row < 3; ++row) {
    logits.set(row, std::vector<float>{static_cast<float>(row), 4});
  }
  letters.dataset->set_targets(logits, 0.5);
  const PackedBatch batch = pack(*letters.dataset, std::vector<int64_t>{1, 2});
  EXPECT_THAT(batch.teacher_logits, ElementsAre(1, 4, 2, 4));
  EXPECT_THAT(classes_of(batch), SizeIs(2));
}

TEST(RowTargets, ATeachersScoresAreMixedWithTheLabels) {
  ExampleTable table;
  table.labelled = true;
  table.append({.texts = {"ab"}, .score = 2});
  table.finish();
  const LetterTokenizer tokenizer;
  const auto maker =
      make_feature_maker({.task = Task::kRegression, .max_seq_length = 16}, tokenizer);
  Dataset data(table, {0}, Task::kRegression, *maker, /*labelled=*/true);
  RowTargets scores(1, 1, DType::kF32);
  scores.set(0, std::vector<float>{4});
  data.set_targets(scores, 0.25);
  const PackedBatch batch = pack(data, std::vector<int64_t>{0});
  EXPECT_THAT(std::get<PackedBatch::Scores>(batch.labels).values, ElementsAre(2.5));
  EXPECT_THAT(batch.teacher_logits, IsEmpty());
}

// Makes a token of each letter. Spaces separate tokens and are dropped. [CLS] is 1 and [SEP] is 2.
class SpelledTokenizer : public Tokenizer {
 public:
  // The texts that were given to it, first and second ones.
  mutable std::vector<std::string> encoded;

  int32_t vocab_size() const override { return 29; }
  Encoding encode(std::string_view text, std::optional<std::string_view> text_pair,
                  const EncodeOptions& options) const override {
    encoded.emplace_back(text);
    if (text_pair) encoded.emplace_back(*text_pair);
    Encoding encoding;
    const auto special = [&](int32_t id, int32_t type) {
      if (options.add_special_tokens) add(encoding, id, type, {});
    };
    special(1, 0);
    append(encoding, text, 0);
    special(2, 0);
    if (text_pair) {
      append(encoding, *text_pair, 1);
      special(2, 1);
    }
    const size_t length = std::min<size_t>(encoding.input_ids.size(), options.max_length);
    encoding.input_ids.resize(length);
    encoding.token_type_ids.resize(length);
    encoding.offsets.resize(length);
    return encoding;
  }
  std::string token(int32_t) const override { return ""; }
  std::vector<File> files() const override { return {}; }

 private:
  static void add(Encoding& encoding, int32_t id, int32_t type, Span span) {
    encoding.input_ids.push_back(id);
    encoding.token_type_ids.push_back(type);
    encoding.offsets.push_back(span);
  }
  static void append(Encoding& encoding, std::string_view text, int32_t type) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != ' ') add(encoding, 3 + text[i] - 'a', type, span_of(i, i + 1));
    }
  }
};

class FeaturesTest : public testing::Test {
 protected:
  std::vector<Features> make(FeatureOptions options, const Example& example) {
    return make_feature_maker(std::move(options), tokenizer_)->make(example);
  }
  SpelledTokenizer tokenizer_;
};

TEST_F(FeaturesTest, AClassHasAWeight) {
  const auto features = make({.classes = {1, 0}, .num_classes = 2, .class_weights = {3, 5}},
                             {.texts = {"ab"}, .labels = {0}, .weight = 2});
  ASSERT_THAT(features, SizeIs(1));
  EXPECT_THAT(features[0].input_ids, ElementsAre(1, 3, 4, 2));
  EXPECT_THAT(features[0].classes, ElementsAre(1));
  EXPECT_EQ(features[0].weight, 10);
}

TEST_F(FeaturesTest, AScoreAndASetAreTargets) {
  EXPECT_THAT(make({.task = Task::kRegression}, {.texts = {"a"}, .score = 2.5f})[0].targets,
              ElementsAre(2.5f));
  EXPECT_THAT(make({.task = Task::kMultiLabel, .classes = {2, 0}, .num_classes = 3},
                   {.texts = {"a"}, .labels = {0}})[0]
                  .targets,
              ElementsAre(0, 0, 1));
}

TEST_F(FeaturesTest, TokensMadeElsewhereAreNotCut) {
  const Example example{.token_ids = {1, 7, 2}, .token_types = {0, 0, 1}};
  const auto features = make({.max_seq_length = 3, .labelled = false}, example);
  EXPECT_THAT(features[0].input_ids, ElementsAre(1, 7, 2));
  EXPECT_THAT(features[0].token_type_ids, ElementsAre(0, 0, 1));
  EXPECT_THAT([&] { make({.max_seq_length = 2, .labelled = false}, example); },
              ThrowsCode(Code::kUsage, "a row has 3 tokens, but --max-seq-length is 2"));
}

TEST_F(FeaturesTest, AWordsFirstTokenHasItsTag) {
  const FeatureOptions options{
      .task = Task::kTokenClassification, .max_seq_length = 7, .classes = {4, 5, 6}};
  const Example example{.texts = {"ab", "c", "def"}, .labels = {0, 1, 2}};
  const Features features = make(options, example)[0];
  EXPECT_THAT(features.input_ids, ElementsAre(1, 3, 4, 5, 6, 7, 8));  // "f" and [SEP] are cut
  EXPECT_THAT(features.words, ElementsAre(-1, 0, -1, 1, 2, -1, -1));
  EXPECT_THAT(features.classes, ElementsAre(-1, 4, -1, 5, 6, -1, -1));
}

TEST_F(FeaturesTest, ATagHasAWeight) {
  const FeatureOptions options{.task = Task::kTokenClassification,
                               .classes = {1, 0},
                               .num_classes = 2,
                               .class_weights = {3, 5}};
  const Example example{.texts = {"ab", "c", "d"}, .labels = {0, 1, -1}, .weight = 2};
  const Features features = make(options, example)[0];
  EXPECT_THAT(features.classes, ElementsAre(-1, 1, -1, 0, -1, -1));
  EXPECT_EQ(features.token_weights[1], 10);
  EXPECT_EQ(features.token_weights[3], 6);
  EXPECT_THAT(features.token_weights, SizeIs(6));
}

// Tokens take the space before them, except "x".
class SpacedTokenizer final : public SpelledTokenizer {
 public:
  bool takes_no_space(std::string_view word) const override { return word.empty() || word == "x"; }
};

std::unique_ptr<ExampleTable> table_of(std::vector<std::string> words) {
  auto table = std::make_unique<ExampleTable>();
  table->append({.texts = {"a"}});
  table->append({.texts = std::move(words)});
  table->finish();
  return table;
}

// A word that begins with "y" has a token for its space, whose span is empty, as a byte-level
// tokenizer with trimmed spans makes one.
class TrimmingTokenizer final : public SpelledTokenizer {
 public:
  bool takes_no_space(std::string_view word) const override { return word.empty(); }
  Encoding encode(std::string_view text, std::optional<std::string_view> text_pair,
                  const EncodeOptions& options) const override {
    Encoding made = SpelledTokenizer::encode(text, text_pair, options);
    for (size_t i = 0; i < made.input_ids.size(); ++i) {
      const Span span = made.offsets[i];
      if (span.end == 0 || text[span.begin] != 'y') continue;
      const auto at = static_cast<std::ptrdiff_t>(i++);
      made.input_ids.insert(made.input_ids.begin() + at, 28);
      made.token_type_ids.insert(made.token_type_ids.begin() + at, 0);
      made.offsets.insert(made.offsets.begin() + at, {span.begin, span.begin});
    }
    return made;
  }
};

// As in run_ner.py of transformers, which asks the tokenizer for each token's word.
TEST(WordFeaturesTest, AWordsSpaceIsItsFirstTokenWhereItIsATokenOfItsOwn) {
  const TrimmingTokenizer tokenizer;
  const auto maker =
      make_word_features({.task = Task::kTokenClassification, .classes = {4, 5, 6}}, tokenizer);
  const Features features = maker->make({.texts = {"yb", "c", "y"}, .labels = {0, 1, 2}})[0];
  EXPECT_THAT(features.input_ids, ElementsAre(1, 28, 27, 4, 5, 28, 27, 2));
  EXPECT_THAT(features.words, ElementsAre(-1, 0, -1, -1, 1, 2, -1, -1));
  EXPECT_THAT(features.classes, ElementsAre(-1, 4, -1, -1, 5, 6, -1, -1));
  EXPECT_TRUE(has_word_behind_space(*table_of({"a", "yb"}), tokenizer));
  EXPECT_FALSE(has_word_behind_space(*table_of({"a", "by", ""}), tokenizer));
  EXPECT_FALSE(has_word_behind_space(*table_of({"yb"}), SpelledTokenizer()));
}

TEST(WordFeaturesTest, ATableHasWordsThatTakeNoSpace) {
  EXPECT_FALSE(has_word_without_space(*table_of({"a", "b"}), SpacedTokenizer()));
  EXPECT_TRUE(has_word_without_space(*table_of({"a", "x"}), SpacedTokenizer()));
  EXPECT_TRUE(has_word_without_space(*table_of({"", "b"}), SpacedTokenizer()));
  EXPECT_FALSE(has_word_without_space(*table_of({"", "x"}), SpelledTokenizer()));
}

TEST_F(FeaturesTest, TokensMadeElsewhereAreOneWordEach) {
  const Features features =
      make({.task = Task::kTokenClassification, .classes = {3}},
           {.token_ids = {1, 7, 2}, .token_types = {0, 0, 0}, .labels = {-1, 0, -1}})[0];
  EXPECT_THAT(features.words, ElementsAre(0, 1, 2));
  EXPECT_THAT(features.classes, ElementsAre(-1, 3, -1));
}

TEST_F(FeaturesTest, ARowThatDoesNotFitIsNamedWithItsTable) {
  ExampleTable table;
  table.name = "train.tf_record";
  table.append({.token_ids = {1, 2}, .token_types = {0, 0}});
  table.append({.token_ids = {1, 7, 2}, .token_types = {0, 0, 0}});
  table.finish();
  const SpelledTokenizer tokenizer;
  const auto maker = make_feature_maker({.max_seq_length = 2, .labelled = false}, tokenizer);
  Dataset data(table, {0, 1}, Task::kSequenceClassification, *maker, false);
  EXPECT_THAT(data.features(0).input_ids, SizeIs(2));
  EXPECT_THAT([&] { data.features(1); },
              ThrowsCode(Code::kUsage, "train.tf_record: row 1: a row has 3 tokens"));
}

class WindowsTest : public FeaturesTest {
 protected:
  // [CLS] q [SEP] and the last [SEP] take 4 tokens of the length.
  std::vector<Features> windows(const Example& example, int32_t length,
                                std::optional<int64_t> stride) {
    return make({.task = Task::kQuestionAnswering, .max_seq_length = length, .doc_stride = stride},
                example);
  }
};

TEST_F(WindowsTest, CoverTheContextAndOverlap) {
  const auto made = windows({.texts = {"q", "abcdefgh"}}, 8, 1);
  ASSERT_THAT(made, SizeIs(3));
  EXPECT_THAT(made[0].input_ids, ElementsAre(1, 19, 2, 3, 4, 5, 6, 2));
  EXPECT_THAT(made[1].input_ids, ElementsAre(1, 19, 2, 6, 7, 8, 9, 2));
  EXPECT_THAT(made[2].input_ids, ElementsAre(1, 19, 2, 9, 10, 2));
  EXPECT_THAT(made[0].token_type_ids, ElementsAre(0, 0, 0, 1, 1, 1, 1, 1));
  EXPECT_EQ(made[1].context[3], (Span{3, 4}));
  EXPECT_EQ(made[1].context[1], Span());
}

TEST_F(WindowsTest, AWindowMayBeginAStepBehindTheOneBeforeIt) {
  FeatureOptions options{.task = Task::kQuestionAnswering, .max_seq_length = 8, .doc_step = 2};
  const Example example{.texts = {"q", "abcdefgh"}};
  auto made = make(options, example);
  ASSERT_THAT(made, SizeIs(3));
  EXPECT_THAT(made[1].input_ids, ElementsAre(1, 19, 2, 5, 6, 7, 8, 2));
  options.doc_step = 100;  // no token is left out
  made = make(options, example);
  ASSERT_THAT(made, SizeIs(2));
  EXPECT_THAT(made[1].input_ids, ElementsAre(1, 19, 2, 7, 8, 9, 10, 2));
}

TEST_F(WindowsTest, AContextThatFitsIsOneWindow) {
  EXPECT_THAT(windows({.texts = {"q", "abcd"}}, 8, 1), SizeIs(1));
  EXPECT_THAT(windows({.texts = {"q", ""}}, 8, 1), SizeIs(1));
}

TEST_F(WindowsTest, AnAnswerIsInTheWindowsThatHoldAllOfIt) {
  const auto made = windows({.texts = {"q", "abcdefgh"}, .answers = {{"de", 3}}}, 8, 1);
  EXPECT_THAT(made[0].classes, ElementsAre(0, 0));  // holds only "d" of the answer
  EXPECT_THAT(made[1].classes, ElementsAre(3, 4));
  EXPECT_THAT(made[2].classes, ElementsAre(0, 0));
  EXPECT_THAT(windows({.texts = {"q", "abcd"}}, 8, 1)[0].classes, ElementsAre(0, 0));
}

TEST_F(WindowsTest, AQuestionThatLeavesNoRoomIsRefused) {
  EXPECT_THAT(
      [&] {
        windows({.texts = {"qqqqq", "abcdefgh"}}, 8, 3);
      },
      ThrowsCode(Code::kUsage, "--doc-stride"));
}

TEST_F(WindowsTest, AQuestionIsCutToHalfOfTheLength) {
  const auto made = windows({.texts = {"qrstu", "abcdefgh"}, .answers = {{"b", 1}}}, 8, 1);
  EXPECT_THAT(made[0].input_ids, ElementsAre(1, 19, 20, 2, 3, 4, 5, 2));
  EXPECT_THAT(made[0].token_type_ids, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_EQ(made[0].context[4], (Span{0, 1}));
  EXPECT_THAT(made[0].classes, ElementsAre(5, 5));
}

TEST_F(WindowsTest, AQuestionHasSixtyFourTokensAtMost) {
  const auto made = windows({.texts = {std::string(100, 'q'), "abc"}}, 384, 128);
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_THAT(made[0].input_ids, SizeIs(1 + 64 + 1 + 3 + 1));
}

TEST_F(WindowsTest, AContextIsTokenizedOnceForAllItsQuestions) {
  const FeatureOptions options{
      .task = Task::kQuestionAnswering, .max_seq_length = 8, .doc_stride = 1};
  const auto maker = make_feature_maker(options, tokenizer_);
  const SpelledTokenizer other;
  for (const char* question : {"q", "r s", "", "qrstu"}) {
    for (const char* context : {"abcdefgh", "hg", ""}) {
      const Example example{.texts = {question, context}, .answers = {{"b", 1}}};
      const auto made = maker->make(example);
      const auto alone = make_feature_maker(options, other)->make(example);
      ASSERT_EQ(made.size(), alone.size());
      for (size_t i = 0; i < made.size(); ++i) {
        EXPECT_EQ(made[i].input_ids, alone[i].input_ids);
        EXPECT_EQ(made[i].token_type_ids, alone[i].token_type_ids);
        EXPECT_EQ(made[i].context, alone[i].context);
        EXPECT_EQ(made[i].classes, alone[i].classes);
      }
    }
  }
  const auto times = [&](const char* text) {
    return std::count(tokenizer_.encoded.begin(), tokenizer_.encoded.end(), text);
  };
  EXPECT_EQ(times("abcdefgh"), 1);
  EXPECT_EQ(times("hg"), 1);
}

// Each token is in 99 windows, and is held once.
TEST_F(WindowsTest, OverlappingWindowsTakeTheMemoryOfTheirTokensOnce) {
  constexpr size_t kTokens = 10000, kBytesOfToken = sizeof(int32_t) + sizeof(Span);
  const FeatureOptions options{
      .task = Task::kQuestionAnswering, .max_seq_length = 104, .doc_stride = 99};
  const auto maker = make_feature_maker(options, tokenizer_);
  ExampleTable table;
  for (const char* question : {"q", "r"})
    table.append({.texts = {question, std::string(kTokens, 'a')}});
  table.finish();
  Dataset data(table, {0, 1}, Task::kQuestionAnswering, *maker, /*labelled=*/false);
  EXPECT_EQ(data.size(), static_cast<int64_t>(2 * (kTokens - 99)));
  const size_t of_lengths = static_cast<size_t>(data.size()) * sizeof(uint32_t);
  EXPECT_LT(data.memory_bytes(), of_lengths + kTokens * kBytesOfToken + kTokens + 2000);
  EXPECT_EQ(data.features(data.size() - 1).context[102], (Span{kTokens - 1, kTokens}));
}

TEST_F(WindowsTest, OfATableOnDiskAreTheSame) {
  const FeatureOptions options{
      .task = Task::kQuestionAnswering, .max_seq_length = 8, .doc_stride = 1, .labelled = false};
  const auto maker = make_feature_maker(options, tokenizer_);
  ExampleTable memory, disk(/*memory_bytes=*/0);
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < 70; ++row) {
    const Example example{
        .texts = {"q", std::string(row == 7 ? 60000 : 5 + row, static_cast<char>('a' + row % 26))}};
    for (ExampleTable* table : {&memory, &disk}) table->append(example);
    rows.push_back(row);
  }
  for (ExampleTable* table : {&memory, &disk}) table->finish();
  ASSERT_TRUE(disk.spilled());
  Dataset held(memory, rows, Task::kQuestionAnswering, *maker, /*labelled=*/false);
  Dataset read(disk, rows, Task::kQuestionAnswering, *maker, /*labelled=*/false);
  ASSERT_EQ(read.size(), held.size());
  ASSERT_GT(read.shuffled_runs().runs_of_block, 1);
  for (int64_t i = 0; i < read.size(); i += i % 100 == 0 ? 1 : 11) {
    for (const int64_t index : {i, read.size() - 1 - i}) {
      ASSERT_EQ(read.features(index).input_ids, held.features(index).input_ids) << index;
      ASSERT_EQ(read.features(index).context, held.features(index).context) << index;
    }
  }
}

TEST(ExampleTableTest, LongRowsAreReadOneAtATime) {
  constexpr size_t kBytes = 600000;
  ExampleTable table(/*memory_bytes=*/1 << 20);
  for (char c = 'a'; c <= 'z'; ++c) table.append({.texts = {std::string(kBytes, c)}});
  EXPECT_LT(table.memory_bytes(),
            4 * kBytes);  // 32 rows were kept before any was moved to the disk
  table.finish();
  ASSERT_TRUE(table.spilled());
  for (const uint32_t row : {25u, 0u, 13u}) {
    EXPECT_EQ(table.read(row).texts[0],
              std::string(kBytes, static_cast<char>('a' + static_cast<int>(row))));
  }
}

TEST_F(WindowsTest, WithoutAStrideWindowsShareWhatFits) {
  const std::string context(400, 'a');
  const auto shared = [&](int32_t length) {
    const auto made = windows({.texts = {"q", context}}, length, std::nullopt);
    return made[0].context[made[0].context.size() - 2].end - made[1].context[3].begin;
  };
  EXPECT_EQ(shared(304), 128u);
  EXPECT_EQ(shared(124), 60u);
}

TEST(ExampleCodec, GivesBackEveryExample) {
  const std::vector<Example> examples = {
      {},
      {.id = "q", .texts = {"a", "", "ü"}, .labels = {0, 300, -1}, .score = -2.5f, .weight = 0.25f},
      {.token_ids = {101, 70000}, .token_types = {0, 1}, .answers = {{"x", 7}, {"", 0}}}};
  std::string bytes;
  TextPlaces places;
  for (const Example& example : examples) append_example(bytes, example, places);
  size_t at = 0;
  places.clear();
  for (const Example& example : examples) EXPECT_EQ(parse_example(bytes, at, places), example);
  EXPECT_EQ(at, bytes.size());
  at = 0;
  places.clear();
  skip_example(bytes, at, places);
  EXPECT_EQ(parse_example(bytes, at, places), examples[1]);
}

TEST(ExampleCodec, WritesATextOfTheExampleBeforeOnce) {
  const std::string long_text(1000, 'c'), another(1000, 'd');
  const std::vector<Example> examples = {
      {.texts = {"a", long_text}},   {.texts = {"b", long_text}}, {.texts = {long_text, "c"}},
      {.texts = {"d", long_text}},   {.texts = {long_text, "e"}}, {.texts = {another, "e"}},
      {.texts = {another, another}}, {.texts = {another}},        {.texts = {another, another}}};
  std::string bytes;
  TextPlaces places;
  for (const Example& example : examples) append_example(bytes, example, places);
  EXPECT_LT(bytes.size(), 8 * long_text.size());  // instead of 11 long texts
  for (size_t skipped = 0; skipped < examples.size(); ++skipped) {
    size_t at = 0;
    places.clear();
    for (size_t i = 0; i < skipped; ++i) skip_example(bytes, at, places);
    EXPECT_EQ(parse_example(bytes, at, places), examples[skipped]);
  }
}

TEST(ExampleTable, KeepsAContextOnceForTheQuestionsOfABlock) {
  for (const size_t memory_bytes : {size_t{64} << 20, size_t{1000}}) {
    ExampleTable table(memory_bytes);
    const std::string context(400'000, 'c');
    for (int i = 0; i < 100; ++i) table.append({.texts = {std::to_string(i), context}});
    table.append({.texts = {"last", "another"}});
    table.finish();
    for (uint32_t i = 0; i < 100; ++i) {
      EXPECT_EQ(table.read(i), Example({.texts = {std::to_string(i), context}}));
    }
    EXPECT_EQ(table.read(100).texts[1], "another");
    EXPECT_LT(table.memory_bytes(), 10 * context.size());  // four blocks in a buffer that doubles
  }
}

}  // namespace
}  // namespace berth
