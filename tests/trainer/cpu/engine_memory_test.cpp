#include <gtest/gtest.h>

#include "tests/support/tiny_config.h"
#include "trainer/cpu/cpu_engine.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/model.h"

namespace berth {
namespace {

size_t fp32(int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); }

class EngineMemoryTest : public testing::Test {
 protected:
  EngineMemory estimate() {
    return engine_memory({.config = config_,
                          .lora = lora_,
                          .trains = trains_,
                          .optimizer = optimizer_,
                          .limits = limits_,
                          .update_tokens = update_tokens_,
                          .longest = 16,
                          .ranks = ranks_},
                         *kernels_);
  }
  int64_t size(bool adapted) const {
    return total_elements(adapted ? parameter_table(config_, lora_) : parameter_table(config_));
  }
  template <typename Which>
  int64_t size_of_those(const Which& which) const {
    int64_t elements = 0;
    for (const ParameterSpec& spec : parameter_table(config_, lora_)) {
      if (which(spec)) elements += spec.elements();
    }
    return elements;
  }

  ModelConfig config_ = tiny_config();
  LoraOptions lora_{};
  OptimizerOptions optimizer_{};
  bool trains_ = true;
  BatchLimits limits_{.tokens = 64, .sequences = 4};
  int64_t update_tokens_ = 0;
  RankOptions ranks_{};
  ThreadPool pool_{2};
  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels(pool_);
};

TEST_F(EngineMemoryTest, InBf16TrainingPacksWeightsTwice) {
  config_.hidden_size = 64;
  config_.intermediate_size = 128;
  const size_t in_fp32 = estimate().scratch;
  kernels_ = make_cpu_kernels(pool_, "baseline", Precision::kBf16);
  const int64_t a_layer = 64 * 64 * 4 + 2 * 64 * 128;
  const size_t training = estimate().scratch;
  EXPECT_GT(training, in_fp32 + static_cast<size_t>(config_.num_hidden_layers * a_layer) * 4);
  trains_ = false;  // packs each weight once
  EXPECT_LT(estimate().scratch,
            training - static_cast<size_t>(config_.num_hidden_layers * a_layer) * 2 + 1);
}

TEST_F(EngineMemoryTest, WholeGradientsReuseTheMemoryOfActivations) {
  config_.hidden_size = 384;
  config_.intermediate_size = 512;
  limits_ = {.tokens = 4000, .sequences = 4};
  const int64_t square = 384 * 384, a_layer = 4 * square + 2 * 384 * 512;
  const int64_t matrices = config_.num_hidden_layers * a_layer + square;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    kernels_ = make_cpu_kernels(pool_, "baseline", precision);
    update_tokens_ = 0;
    const EngineMemory summed = estimate();
    update_tokens_ = 4000;
    EXPECT_EQ(estimate().gradients, summed.gradients - fp32(matrices));
    // The gradients of the last layer and of the head are made before any activations are dead, so
    // they need memory of their own.
    const size_t first = static_cast<size_t>(a_layer + square) * size_of(kernels_->product_dtype());
    EXPECT_EQ(estimate().activations, summed.activations + first);
  }
}

TEST_F(EngineMemoryTest, RanksKeepGradientsWhereTheyNeedNotAddUpWhatIsRounded) {
  config_.hidden_size = 384;
  config_.intermediate_size = 512;
  limits_ = {.tokens = 8, .sequences = 1};
  kernels_ = make_cpu_kernels(pool_, "baseline", Precision::kBf16);
  const size_t summed = estimate().gradients;
  update_tokens_ = 16;
  ranks_ = {.size = 2};
  const EngineMemory kept = estimate();
  EXPECT_LT(kept.gradients, summed);
  const int64_t square = 384 * 384;
  const int64_t matrices = config_.num_hidden_layers * (4 * square + 2 * 384 * 512) + square;
  EXPECT_GE(kept.activations, static_cast<size_t>(matrices) * 2);  // whole, and no factors
  ranks_.reduce_dtype = DType::kF32;
  EXPECT_EQ(estimate().gradients, summed);
  ranks_ = {.size = 2, .shards_optimizer = true};
  EXPECT_EQ(estimate().gradients, summed);
}

TEST_F(EngineMemoryTest, ActivationsAreWhatTheModelAllocates) {
  config_.hidden_size = 384;  // large enough for factored and whole gradients
  for (const ModelType type : {ModelType::kBert, ModelType::kDistilBert}) {
    for (const int64_t update_tokens : {0, 16, 4000}) {
      config_.type = type;
      update_tokens_ = update_tokens;
      Parameters parameters(parameter_table(config_), /*with_gradients=*/true, *kernels_,
                            {.update_tokens = update_tokens});
      const Model model(config_, limits_, parameters, *kernels_);
      EXPECT_EQ(estimate().activations, model.activation_bytes());
    }
  }
  lora_ = {.rank = 2, .alpha = 8, .dropout = 0.1};
  Parameters parameters(parameter_table(config_, lora_), /*with_gradients=*/true, *kernels_,
                        {.update_tokens = update_tokens_});
  const Model model(config_, limits_, parameters, *kernels_, {}, lora_);
  EXPECT_EQ(estimate().activations, model.activation_bytes());
}

TEST_F(EngineMemoryTest, GradientsOfFewTokensAreKeptAsFactors) {
  config_.hidden_size = 384;
  config_.intermediate_size = 512;
  const EngineMemory summed = estimate();
  update_tokens_ = 8;
  const EngineMemory factored = estimate();
  const int64_t square = 384 * 384, layers = config_.num_hidden_layers;
  const int64_t matrices = layers * (4 * square + 2 * 384 * 512) + square;
  const int64_t factors = layers * (4 * 768 + 2 * 896) + 768;
  EXPECT_EQ(factored.gradients, summed.gradients - fp32(matrices));
  EXPECT_GT(factored.scratch, summed.scratch);
  EXPECT_GT(factored.activations, summed.activations);
  EXPECT_LE(factored.activations, summed.activations + fp32(8 * factors));
}

TEST_F(EngineMemoryTest, ActivationsGrowWithTheBatch) {
  const size_t before = estimate().activations;
  limits_ = {.tokens = 128, .sequences = 8};
  EXPECT_GT(estimate().activations, before * 19 / 10);
}

TEST_F(EngineMemoryTest, FrozenParametersHaveNeitherGradientsNorMoments) {
  optimizer_.first_depth = 1;  // freezes the embeddings
  const EngineMemory memory = estimate();
  const int64_t trained = size_of_those([](const ParameterSpec& spec) { return spec.depth >= 1; });
  EXPECT_LT(trained, size(false));
  EXPECT_EQ(memory.gradients, fp32(trained));
  EXPECT_EQ(memory.moments, 2 * memory.gradients);
}

TEST_F(EngineMemoryTest, RanksThatShareTheOptimizerHaveAShareOfTheMoments) {
  config_.vocab_size = 64;  // rows for each of them
  const EngineMemory alone = estimate();
  ranks_.size = 4;
  EXPECT_EQ(estimate().moments, alone.moments);
  ranks_.shards_optimizer = true;
  EXPECT_EQ(estimate().gradients, alone.gradients);
  EXPECT_GE(4 * estimate().moments, alone.moments);
  EXPECT_LT(3 * estimate().moments, alone.moments);
}

TEST_F(EngineMemoryTest, ScratchGrowsWithTheLength) {
  const ScratchExtent extent{.longest = 128, .heads = 4, .head_size = 8};
  ScratchExtent longer = extent, relative = extent;
  longer.longest = 512;
  relative.positions = 64;
  EXPECT_GT(kernels_->scratch_bytes(longer), 3 * kernels_->scratch_bytes(extent));
  EXPECT_GT(kernels_->scratch_bytes(relative), kernels_->scratch_bytes(extent));
}

}  // namespace
}  // namespace berth
