// Ranks whose loss compares texts must learn what one engine learns from all of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "tests/support/rank_threads.h"
#include "tests/support/tiny_config.h"
#include "trainer/cpu/cpu_device.h"
#include "trainer/weights/initial_values.h"

namespace berth {
namespace {

constexpr uint64_t kComparedUpdates = 3;

struct ComparedCase {
  std::string name;
  Task task = Task::kInBatchNegatives;
  int64_t texts = 2;
  SimilarityObjective objective{};
  int64_t part_sequences = 0;
  bool normalizes = false;
};
void PrintTo(const ComparedCase& test, std::ostream* out) { *out << test.name; }

struct LearntTexts {
  std::vector<float> values;
  std::vector<UpdateOutcome> outcomes;
};

class ComparedRanks : public testing::TestWithParam<ComparedCase> {
 protected:
  static constexpr int64_t kRows = 7;

  ComparedRanks() {
    config_.task = GetParam().task;
    config_.labels.clear();
    config_.texts_per_row = GetParam().texts;
    config_.similarity = GetParam().objective;
    config_.normalizes_embeddings = GetParam().normalizes;
    config_.hidden_dropout_prob = config_.attention_probs_dropout_prob = 0.1;
  }

  // Rows [begin, end) of the update. Each text has 3 to 9 tokens.
  PackedBatch rows(int64_t begin, int64_t end) const {
    const int64_t texts = GetParam().texts;
    PackedBatch batch;
    std::vector<float> numbers;
    for (int64_t text = 0; text < end * texts; ++text) {
      const auto length = static_cast<int32_t>(3 + text * 5 % 7);
      if (text < begin * texts) {
        batch.first_token += static_cast<uint64_t>(length);
        continue;
      }
      for (int32_t i = 0; i < length; ++i) {
        batch.input_ids.push_back(static_cast<int32_t>((text * 13 + i * 7) % config_.vocab_size));
        batch.token_type_ids.push_back(i % 2);
        batch.position_ids.push_back(i);
      }
      batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
    }
    for (int64_t row = begin; row < end; ++row) numbers.push_back(static_cast<float>(row % 2));
    batch.first_sequence = static_cast<uint64_t>(begin * texts);
    if (begin == end) return batch;  // as a rank without rows has it
    batch.sequences_per_example = static_cast<int32_t>(texts);
    if (config_.task == Task::kSimilarity) {
      batch.labels = PackedBatch::Scores{std::move(numbers)};
    } else {
      PackedBatch::Classes places(static_cast<size_t>(end - begin));
      std::iota(places.begin(), places.end(), 0);
      batch.labels = std::move(places);
    }
    return batch;
  }

  // This rank's part of each micro-batch, which has the same rows for any number of ranks.
  LearntTexts train(Communicator* ranks, int64_t micro_batches) const {
    const int64_t size = ranks == nullptr ? 1 : ranks->size();
    const int64_t rank = ranks == nullptr ? 0 : ranks->rank();
    const int64_t sequences = kRows * GetParam().texts, part = GetParam().part_sequences;
    const auto device = make_cpu_device(1, "", Precision::kFp32);
    const auto engine = device->make_engine(
        {.config = config_,
         .optimizer = {.adamw = {.epsilon = 1e-4f}},
         .limits = {.tokens = 9 * sequences,
                    .sequences = sequences,
                    .part_sequences = part,
                    .part_tokens = 9 * part,
                    .compared_sequences = sequences},
         .micro_batches = micro_batches,
         .update_tokens = 9 * sequences,
         .longest = 16,
         .ranks = {.size = size, .communicator = ranks, .reduce_dtype = DType::kF32}});
    ParameterTensors& values = engine->tensors(StateTensors::kValues);
    initialize(values, /*initializer_range=*/0.2, /*seed=*/3, /*threads=*/1);
    engine->tensors_written();
    std::vector<PackedBatch> batches;
    for (int64_t i = 0; i < micro_batches; ++i) {
      const int64_t begin = kRows * i / micro_batches, end = kRows * (i + 1) / micro_batches;
      const int64_t count = end - begin;
      batches.push_back(rows(begin + count * rank / size, begin + count * (rank + 1) / size));
    }
    LearntTexts learnt;
    const std::atomic<bool> stop = false;
    for (uint64_t step = 0; step < kComparedUpdates; ++step) {
      EXPECT_TRUE(
          engine->start_update(batches, {.seed = 5, .step = step, .learning_rate = 1e-2f}, stop));
      learnt.outcomes.push_back(engine->collect_update());
    }
    for (size_t i = 0; i < values.specs().size(); ++i) {
      const std::vector<float> tensor = values.ParameterTensors::read(i);
      learnt.values.insert(learnt.values.end(), tensor.begin(), tensor.end());
    }
    return learnt;
  }

  LearntTexts train_with(int size, int64_t micro_batches) const {
    std::vector<LearntTexts> all(static_cast<size_t>(size));
    run_ranks(size, [&](Communicator& ranks) {
      all[static_cast<size_t>(ranks.rank())] = train(&ranks, micro_batches);
    });
    for (const LearntTexts& each : all) EXPECT_EQ(each.values, all[0].values);
    return all[0];
  }

  ModelConfig config_ = tiny_config();
};

// With nine ranks some have no row.
TEST_P(ComparedRanks, LearnWhatOneLearns) {
  for (const int64_t micro_batches : {1, 2}) {
    const LearntTexts alone = train(nullptr, micro_batches);
    for (const int size : {1, 2, 3, 9}) {
      const LearntTexts together = train_with(size, micro_batches);
      for (size_t i = 0; i < kComparedUpdates; ++i) {
        const double loss = alone.outcomes[i].loss_sum;
        EXPECT_NEAR(together.outcomes[i].loss_sum, loss, 1e-5 * std::max(1.0, loss)) << size;
        EXPECT_EQ(together.outcomes[i].examples, alone.outcomes[i].examples) << size;
        EXPECT_NEAR(together.outcomes[i].grad_norm, alone.outcomes[i].grad_norm,
                    1e-5 * std::max(1.0, alone.outcomes[i].grad_norm))
            << size;
      }
      double most = 0;
      for (size_t i = 0; i < alone.values.size(); ++i) {
        most = std::max(most, std::abs(double{together.values[i]} - double{alone.values[i]}));
      }
      EXPECT_LT(most, 1e-4) << size;
    }
  }
}

TEST_P(ComparedRanks, AreTheSameBitForBitEveryTime) {
  EXPECT_EQ(train_with(3, 2).values, train_with(3, 2).values);
}

std::vector<ComparedCase> compared_cases() {
  using enum SimilarityLoss;
  return {
      {"pairs"},
      {"negatives", Task::kInBatchNegatives, 4},
      {"symmetric", Task::kInBatchNegatives, 3, {.loss = kSymmetric}},
      {"guided", Task::kInBatchNegatives, 3, {.rule = {.is_on = true, .margin = 0.02}}},
      {"triplet", Task::kInBatchNegatives, 3, {.loss = kTriplet}},
      {"nested", Task::kInBatchNegatives, 2, {.nested = {{.size = 8}, {.size = 3, .weight = 0.5}}}},
      {"cosine", Task::kSimilarity},
      {"cosent", Task::kSimilarity, 2, {.loss = kCosent}},
      {"angle", Task::kSimilarity, 2, {.loss = kAngle}},
      {"contrastive", Task::kSimilarity, 2, {.loss = kContrastive, .margin = 0.5}},
      {"online_contrastive",
       Task::kSimilarity,
       2,
       {.loss = kOnlineContrastive, .margin = 0.5, .distance = EmbeddingDistance::kEuclidean},
       0,
       true},
      {"cached", Task::kInBatchNegatives, 3, {}, 4},
      {"cached_nested_cosent",
       Task::kSimilarity,
       2,
       {.loss = kCosent, .nested = {{.size = 8}, {.size = 4}}},
       3},
  };
}

INSTANTIATE_TEST_SUITE_P(All, ComparedRanks, testing::ValuesIn(compared_cases()),
                         [](const testing::TestParamInfo<ComparedCase>& test) {
                           return test.param.name;
                         });

}  // namespace
}  // namespace berth
