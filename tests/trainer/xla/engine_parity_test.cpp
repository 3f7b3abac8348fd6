// Compares the XLA engine with the CPU engine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/throws_code.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "tests/trainer/xla/network/group_cases.h"
#include "tests/trainer/xla/xla_case.h"

namespace berth {
namespace {

class EngineParity : public WithXlaDevice, public testing::WithParamInterface<std::string> {};

TEST_P(EngineParity, LogitsAndThenTenUpdatesWithDropout) {
  RecordedCase recorded(GetParam(), /*drops=*/true);
  const auto device = open();
  const auto engine = device->make_engine(engine_options(recorded));
  Engine& cpu = recorded.cpu();
  copy_state(cpu, *engine);
  LossSum found{.loss = 2, .weight = 1}, loss = found;
  const std::vector<float> expected = cpu.infer(recorded.batch, loss);
  const std::vector<float> logits = engine->infer(recorded.batch, found);
  EXPECT_NEAR(found.loss, loss.loss, 1e-4 * loss.loss);
  EXPECT_NEAR(found.weight, loss.weight, 1e-6);
  ASSERT_EQ(logits.size(), expected.size());
  float largest = 0;
  for (const float logit : expected) largest = std::max(largest, std::abs(logit));
  for (size_t i = 0; i < logits.size(); ++i) {
    ASSERT_NEAR(logits[i], expected[i], 1e-4 * largest) << i;
  }
  for (uint64_t step = 0; step < 10; ++step) {
    SCOPED_TRACE(step);
    const UpdateOutcome of_cpu = update(cpu, {&recorded.batch, 1}, step);
    expect_close(update(*engine, {&recorded.batch, 1}, step), of_cpu, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, EngineParity,
                         testing::Values("bert-sequence", "bert-sets", "roberta-score",
                                         "xlm-roberta-sequence", "xlm-roberta-qa", "distilbert-qa",
                                         "electra-masked", "albert-sequence", "bert-choice",
                                         "deberta-v2-token", "deberta-v2-convolved-sequence"),
                         test_name);

// Ten updates with an option of training, of one batch or of its parts as micro-batches.
class EngineParityOfOptions : public WithXlaDevice {
 protected:
  void expect_equal_updates(RecordedCase& recorded, const std::vector<PackedBatch>& parts) {
    const auto device = open();
    const auto engine =
        device->make_engine(engine_options(recorded, static_cast<int64_t>(parts.size())));
    copy_state(recorded.cpu(), *engine);
    for (uint64_t step = 0; step < 10; ++step) {
      SCOPED_TRACE(step);
      const UpdateOutcome of_cpu = update(recorded.cpu(), parts, step);
      expect_close(update(*engine, parts, step), of_cpu, 1e-4);
    }
  }
};

TEST_F(EngineParityOfOptions, Lora) {
  RecordedCase recorded("roberta-sequence", /*drops=*/true);
  recorded.options.lora = {.rank = 3, .alpha = 6, .dropout = 0.25, .target_modules = "all-linear"};
  expect_equal_updates(recorded, {recorded.batch});
}

TEST_F(EngineParityOfOptions, Lamb) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  recorded.options.optimizer.type = OptimizerType::kLamb;
  expect_equal_updates(recorded, {recorded.batch});
}

TEST_F(EngineParityOfOptions, Accumulation) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  expect_equal_updates(recorded,
                       {part_of(recorded.batch, 0, 2),
                        part_of(recorded.batch, 2, recorded.batch.cu_seqlens.size() - 1)});
}

// What is inferred of a batch, and ten updates, on one device and on two.
class EngineParityOfGroups : public WithXlaDevice {
 protected:
  void expect_equal(RecordedCase& recorded, const BatchLimits& limits = {}) {
    const auto cpu_device = make_cpu_device(1);
    for (const int64_t devices : {1, 2}) {
      SCOPED_TRACE(devices);
      const auto device = open(devices);
      EngineOptions options = engine_options(recorded);
      options.limits.part_sequences = limits.part_sequences;
      options.limits.part_tokens = limits.part_tokens;
      const auto engine = device->make_engine(options);
      const auto cpu = cpu_device->make_engine(engine_options(recorded));
      copy_state(recorded.cpu(), *engine);
      copy_state(recorded.cpu(), *cpu);
      LossSum found, expected;
      const std::vector<float> logits = engine->infer(recorded.batch, found),
                               of_cpu = cpu->infer(recorded.batch, expected);
      EXPECT_NEAR(found.loss, expected.loss, 1e-4 * expected.loss);
      EXPECT_NEAR(found.weight, expected.weight, 1e-5);
      EXPECT_NEAR(found.second_loss, expected.second_loss, 1e-4 * expected.second_loss);
      EXPECT_NEAR(found.second_weight, expected.second_weight, 1e-5);
      ASSERT_EQ(logits.size(), of_cpu.size());
      for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], of_cpu[i], 1e-4) << i;
      if (recorded.options.config.task == Task::kTextEmbedding) continue;
      for (uint64_t step = 0; step < 10; ++step) {
        SCOPED_TRACE(step);
        const UpdateOutcome outcome = update(*cpu, {&recorded.batch, 1}, step);
        expect_close(update(*engine, {&recorded.batch, 1}, step), outcome, 1e-4);
      }
    }
  }
};

TEST_F(EngineParityOfGroups, Embeddings) {
  RecordedCase recorded = case_of_texts(Task::kTextEmbedding, 6, 1);
  recorded.options.config.pooling = Pooling::kMax;
  expect_equal(recorded);
}

TEST_F(EngineParityOfGroups, InBatchNegatives) {
  RecordedCase recorded = case_of_texts(Task::kInBatchNegatives, 2, 3);
  recorded.batch.labels = places_in_batch(2);
  expect_equal(recorded);
}

TEST_F(EngineParityOfGroups, PairsWithNumbers) {
  RecordedCase recorded = case_of_texts(Task::kSimilarity, 4, 2);
  recorded.options.config.similarity.loss = SimilarityLoss::kCosent;
  recorded.batch.labels = PackedBatch::Scores{{0.9f, 0.1f, 0.4f, 0.7f}};
  expect_equal(recorded);
}

// Labelled rows have columns of shorter embeddings, and others have not.
TEST_F(EngineParityOfGroups, ShorterSizesOfDenseModules) {
  const BatchLimits parts{.part_sequences = 3, .part_tokens = 16};
  for (const bool has_parts : {false, true}) {
    RecordedCase recorded = case_of_texts(Task::kSimilarity, 4, 2);
    add_dense_modules(recorded);
    recorded.options.config.similarity = {.loss = SimilarityLoss::kCosent,
                                          .scale = 5,
                                          .nested = {{.size = 7}, {.size = 4, .weight = 0.5}}};
    recorded.batch.labels = PackedBatch::Scores{{0.9f, 0.1f, 0.4f, 0.7f}};
    expect_equal(recorded, has_parts ? parts : BatchLimits());
    recorded.batch.labels = std::monostate();
    const auto device = open();
    const auto engine = device->make_engine(engine_options(recorded));
    copy_state(recorded.cpu(), *engine);
    LossSum unused;
    const std::vector<float> cosines = engine->infer(recorded.batch, unused),
                             of_cpu = recorded.cpu().infer(recorded.batch, unused);
    ASSERT_EQ(cosines.size(), 4u);
    ASSERT_EQ(of_cpu.size(), 4u);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(cosines[i], of_cpu[i], 1e-4) << i;
  }
}

TEST_F(EngineParityOfGroups, ContrastsOfTextsOfTheSameKind) {
  RecordedCase recorded = case_of_texts(Task::kInBatchNegatives, 2, 3);
  SimilarityObjective& objective = recorded.options.config.similarity;
  objective.rule = {.is_on = true, .margin = 0.01};
  objective.scale = 5;
  objective.contrasts_anchors = objective.contrasts_positives = true;
  recorded.batch.labels = places_in_batch(2);
  expect_equal(recorded);
}

TEST_F(EngineParityOfGroups, ALossThatProgramsLackIsRefused) {
  RecordedCase recorded = case_of_texts(Task::kInBatchNegatives, 2, 3);
  recorded.options.config.similarity.loss = SimilarityLoss::kMarginMse;
  const auto device = open();
  const EngineOptions options = engine_options(recorded);
  EXPECT_THAT([&] { device->make_engine(options); },
              ThrowsCode(Code::kUsage, "learns from a teacher of texts; use --device cpu"));
  EXPECT_THAT([&] { device->memory_of(options); },
              ThrowsCode(Code::kUsage, "learns from a teacher of texts; use --device cpu"));
}

// The batch as a whole on the CPU, and its parts on devices.
TEST_F(EngineParityOfGroups, GradientCaching) {
  const BatchLimits parts{.part_sequences = 3, .part_tokens = 16};
  RecordedCase ranked = case_of_texts(Task::kInBatchNegatives, 2, 3);
  ranked.batch.labels = places_in_batch(2);
  expect_equal(ranked, parts);
  RecordedCase scored = case_of_texts(Task::kSimilarity, 4, 2);
  scored.batch.labels = PackedBatch::Scores{{0.9f, 0.1f, 0.4f, 0.7f}};
  scored.batch.weights = {1, 2, 0.5f, 1};
  expect_equal(scored, parts);
}

TEST_F(EngineParityOfGroups, RowsOfPassages) {
  for (const RerankingLoss loss : {RerankingLoss::kLambda, RerankingLoss::kMarginMse}) {
    RecordedCase recorded = case_of_texts(Task::kListReranking, 2, 4);
    recorded.options.config.reranking.loss = loss;
    recorded.batch.labels = places_in_batch(2);
    if (learns_scores(loss)) recorded.batch.text_scores = {3, 1, 0.5, -2, 4, 4.5, 0, 1};
    expect_equal(recorded);
  }
}

TEST_F(EngineParityOfGroups, MultipleChoice) {
  RecordedCase recorded = case_of_texts(Task::kMultipleChoice, 2, 4);
  recorded.batch.labels = PackedBatch::Classes{3, 1};
  expect_equal(recorded);
}

TEST_F(EngineParityOfGroups, NextSentences) {
  RecordedCase recorded = case_of_next_sentences();
  expect_equal(recorded);
}

TEST_F(EngineParityOfGroups, SentenceOrder) {
  RecordedCase recorded = case_of_next_sentences(Task::kSentenceOrder);
  expect_equal(recorded);
}

// The same tokens as a second micro-batch of the update, with one masked token less.
PackedBatch second_micro_batch(const PackedBatch& first) {
  PackedBatch second = first;
  std::get<PackedBatch::MaskedTokens>(second.labels).ids[0] = -1;
  second.first_token = static_cast<uint64_t>(first.num_tokens());
  second.first_sequence = static_cast<uint64_t>(first.num_sequences());
  return second;
}

TEST_F(EngineParityOfOptions, NextSentencesInMicroBatches) {
  RecordedCase recorded = case_of_next_sentences();
  expect_equal_updates(recorded, {recorded.batch, second_micro_batch(recorded.batch)});
}

TEST_F(EngineParityOfGroups, ReplacedTokens) {
  RecordedCase recorded = case_of_replaced_tokens();
  expect_equal(recorded);
}

TEST_F(EngineParityOfOptions, ReplacedTokensInMicroBatches) {
  RecordedCase recorded = case_of_replaced_tokens();
  expect_equal_updates(recorded, {recorded.batch, second_micro_batch(recorded.batch)});
}

TEST_F(EngineParityOfOptions, ATeacherOfClasses) {
  RecordedCase recorded = case_of_teacher();
  expect_equal_updates(recorded, {recorded.batch});
}

class EngineBf16 : public WithXlaDevice {};

TEST_F(EngineBf16, TenUpdatesAreCloseToFp32) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  const auto device = open(1, DType::kBF16);
  EXPECT_EQ(device->info().precision, Precision::kBf16);
  const auto engine = device->make_engine(engine_options(recorded));
  copy_state(recorded.cpu(), *engine);
  for (uint64_t step = 0; step < 10; ++step) {
    const UpdateOutcome expected = update(recorded.cpu(), {&recorded.batch, 1}, step);
    const UpdateOutcome found = update(*engine, {&recorded.batch, 1}, step);
    EXPECT_NEAR(found.loss_sum, expected.loss_sum, 0.01 * expected.loss_sum);
    EXPECT_NEAR(found.grad_norm, expected.grad_norm, 0.01 * expected.grad_norm);
  }
}

}  // namespace
}  // namespace berth
