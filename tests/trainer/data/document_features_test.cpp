#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/letter_data.h"
#include "tests/support/throws_code.h"
#include "trainer/data/batcher.h"
#include "trainer/data/features.h"

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

}  // namespace
}  // namespace berth
