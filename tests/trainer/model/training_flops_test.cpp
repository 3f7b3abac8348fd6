#include "trainer/model/training_flops.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

// 2 layers, H = 8, F = 32, V = 100; two sequences of 3 and 5 tokens.
class TrainingFlopsTest : public testing::Test {
 protected:
  TrainingFlopsTest() {
    config.vocab_size = 100;
    config.hidden_size = 8;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 2;
    config.intermediate_size = 32;
    config.labels = {"no", "yes"};
    batch.input_ids.resize(8);
    batch.cu_seqlens = {0, 3, 8};
  }
  double flops(const LoraOptions& lora = {}, int64_t first_depth = 0) {
    return training_flops(config, lora, first_depth).of(batch);
  }

  ModelConfig config;
  PackedBatch batch;
  const double layer = 4 * 8 * 8 + 2 * 8 * 32;  // the parameters of a layer's products
  const double pairs = 3 * 3 + 5 * 5;           // of tokens that attend to each other
  const double head = 6 * 2 * 8 * (8 + 2);      // of two sequences
};

TEST_F(TrainingFlopsTest, AreSixForEachTokenAndParameterOfAProduct) {
  EXPECT_EQ(flops(), 6 * 2 * layer * 8 + 12 * 2 * 8 * pairs + head);
}

TEST_F(TrainingFlopsTest, OfFrozenLayersAreThoseOfTheForwardPass) {
  EXPECT_EQ(flops({}, /*first_depth=*/2), (2 + 6) * layer * 8 + (4 + 12) * 8 * pairs + head);
}

TEST_F(TrainingFlopsTest, OfAdaptersAreLess) {
  const double adapters = 2 * 2 * 3 * (8 + 8);  // queries and values of both layers, rank 3
  EXPECT_EQ(flops({.rank = 3}), (4 * 2 * layer + 6 * adapters) * 8 + 12 * 2 * 8 * pairs + head);
}

TEST_F(TrainingFlopsTest, OfMaskedTokensIncludeTheVocabulary) {
  config.task = Task::kMaskedLm;
  const double encoder = flops();
  batch.labels = PackedBatch::MaskedTokens{.tokens = {1, 2, 6}, .ids = {5, 5, 5}};
  EXPECT_EQ(flops() - encoder, 6 * 3 * 8 * (8 + 100));
}

TEST_F(TrainingFlopsTest, OfLocalAttentionAreThoseOfPairsInsideTheWindow) {
  const double global = flops();
  config.local_attention = 4;
  config.local_layers = {false, true};
  const double inside = 3 * 3 + 19;  // of 5 tokens: 3, 4, 5, 4 and 3
  EXPECT_EQ(global - flops(), 12 * 8 * (pairs - inside));
}

TEST_F(TrainingFlopsTest, LayersThatShareParametersAllCompute) {
  const double separate = flops();
  config.num_hidden_groups = 1;
  config.type = ModelType::kAlbert;
  EXPECT_EQ(flops(), separate);
}

}  // namespace
}  // namespace berth
