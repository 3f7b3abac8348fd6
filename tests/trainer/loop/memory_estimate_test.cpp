#include "trainer/loop/memory_estimate.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_config.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/model.h"

namespace berth {
namespace {

size_t fp32(int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); }

class MemoryEstimateTest : public testing::Test {
 protected:
  MemoryEstimate estimate() {
    return estimate_memory({.config = config_,
                            .lora = lora_,
                            .optimizer = optimizer_,
                            .trains = trains_,
                            .limits = limits_,
                            .update_tokens = update_tokens_,
                            .longest = 16,
                            .export_dtype = export_dtype_,
                            .saves = saves_},
                           *kernels_);
  }
  int64_t size(bool adapted) const {
    return Parameters(adapted ? parameter_table(config_, lora_) : parameter_table(config_)).size();
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
  DType export_dtype_ = DType::kF32;
  Saving saves_ = Saving::kBesideTraining;
  ThreadPool pool_{2};
  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels(pool_);
};

TEST_F(MemoryEstimateTest, OfAWholeModelIsSevenTimesItsParametersAndTheActivations) {
  const MemoryEstimate memory = estimate();
  const size_t parameters = fp32(size(/*adapted=*/false));
  EXPECT_EQ(memory.parameters, parameters);
  EXPECT_EQ(memory.gradients, parameters);
  EXPECT_EQ(memory.moments, 2 * parameters);
  EXPECT_EQ(memory.saving, 3 * parameters);
  EXPECT_GT(memory.scratch, 0u);
  EXPECT_EQ(memory.total(), 7 * parameters + memory.activations + memory.scratch);
}

TEST_F(MemoryEstimateTest, InBf16WeightsArePackedTwice) {
  config_.hidden_size = 64;
  config_.intermediate_size = 128;
  const size_t in_fp32 = estimate().scratch;
  kernels_ = make_cpu_kernels(pool_, "baseline", Precision::kBf16);
  const int64_t a_layer = 64 * 64 * 4 + 2 * 64 * 128;
  const size_t training = estimate().scratch;
  EXPECT_GT(training, in_fp32 + static_cast<size_t>(config_.num_hidden_layers * a_layer) * 4);
  trains_ = false;  // once
  EXPECT_LT(estimate().scratch,
            training - static_cast<size_t>(config_.num_hidden_layers * a_layer) * 2 + 1);
}

TEST_F(MemoryEstimateTest, GradientsOfOneBatchTakeThePlaceOfActivations) {
  config_.hidden_size = 384;
  config_.intermediate_size = 512;
  limits_ = {.tokens = 4000, .sequences = 4};
  const int64_t square = 384 * 384, a_layer = 4 * square + 2 * 384 * 512;
  const int64_t matrices = config_.num_hidden_layers * a_layer + square;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    kernels_ = make_cpu_kernels(pool_, "baseline", precision);
    update_tokens_ = 0;
    const MemoryEstimate summed = estimate();
    update_tokens_ = 4000;
    EXPECT_EQ(estimate().gradients, summed.gradients - fp32(matrices));
    // Those of the last layer and the head, which are made before any activations were used up.
    const size_t first = static_cast<size_t>(a_layer + square) * size_of(kernels_->kept_dtype());
    EXPECT_EQ(estimate().activations, summed.activations + first);
  }
}

TEST_F(MemoryEstimateTest, ActivationsAreWhatTheModelAllocates) {
  config_.hidden_size = 384;  // so that gradients of one batch are kept
  for (const ModelType type : {ModelType::kBert, ModelType::kDistilBert}) {
    for (const int64_t update_tokens : {0, 16, 4000}) {
      config_.type = type;
      update_tokens_ = update_tokens;
      Parameters parameters(parameter_table(config_), /*with_gradients=*/true, *kernels_,
                            update_tokens);
      const Model model(config_, limits_, parameters, *kernels_);
      EXPECT_EQ(estimate().activations, model.activation_bytes());
    }
  }
  lora_ = {.rank = 2, .alpha = 8, .dropout = 0.1};
  Parameters parameters(parameter_table(config_, lora_), /*with_gradients=*/true, *kernels_,
                        update_tokens_);
  const Model model(config_, limits_, parameters, *kernels_, {}, lora_);
  EXPECT_EQ(estimate().activations, model.activation_bytes());
}

TEST_F(MemoryEstimateTest, OfFewTokensGradientsAreTheirFactors) {
  config_.hidden_size = 384;
  config_.intermediate_size = 512;
  const MemoryEstimate summed = estimate();
  update_tokens_ = 8;
  const MemoryEstimate factored = estimate();
  const int64_t square = 384 * 384, layers = config_.num_hidden_layers;
  const int64_t matrices = layers * (4 * square + 2 * 384 * 512) + square;
  const int64_t factors = layers * (4 * 768 + 2 * 896) + 768;
  EXPECT_EQ(factored.gradients, summed.gradients - fp32(matrices));
  EXPECT_GT(factored.scratch, summed.scratch);
  EXPECT_GT(factored.activations, summed.activations);
  EXPECT_LE(factored.activations, summed.activations + fp32(8 * factors));
}

TEST_F(MemoryEstimateTest, ActivationsGrowWithTheBatch) {
  const size_t before = estimate().activations;
  limits_ = {.tokens = 128, .sequences = 8};
  EXPECT_GT(estimate().activations, before * 19 / 10);
}

TEST_F(MemoryEstimateTest, WhatKeepsItsValuesHasNoMoments) {
  optimizer_.first_depth = 1;  // the embeddings
  const MemoryEstimate memory = estimate();
  EXPECT_EQ(memory.gradients, fp32(size(false)));
  EXPECT_EQ(memory.moments,
            2 * fp32(size_of_those([](const ParameterSpec& spec) { return spec.depth >= 1; })));
}

TEST_F(MemoryEstimateTest, AdaptersSpareGradientsButTheMergedModelIsCopied) {
  lora_ = {.rank = 2, .alpha = 8, .dropout = 0};
  const MemoryEstimate memory = estimate();
  const int64_t trained = size_of_those([](const ParameterSpec& spec) { return spec.trains; });
  EXPECT_LT(trained, size(true));
  EXPECT_EQ(memory.gradients, fp32(trained));
  EXPECT_EQ(memory.moments, 2 * fp32(trained));
  EXPECT_GT(memory.saving, fp32(size(false)));
}

TEST_F(MemoryEstimateTest, ATrainingThatWaitsCopiesATensorAtATime) {
  const MemoryEstimate beside = estimate();
  saves_ = Saving::kWhileTrainingWaits;
  size_t largest = 0;
  for (const ParameterSpec& spec : parameter_table(config_)) {
    largest = std::max(largest, fp32(spec.elements()));
  }
  EXPECT_EQ(estimate().saving, largest);
  EXPECT_EQ(beside.total() - beside.saving, estimate().total() - largest);
  EXPECT_EQ(estimate().saves, saves_);
  export_dtype_ = DType::kF16;
  EXPECT_EQ(estimate().saving, 3 * largest);
  lora_ = {.rank = 1, .alpha = 8, .dropout = 0};
  EXPECT_EQ(estimate().saving, 3 * largest + fp32(size(false)));
}

TEST_F(MemoryEstimateTest, AnInferenceHasNeitherGradientsNorCopies) {
  const MemoryEstimate training = estimate();
  trains_ = false;
  const MemoryEstimate inference = estimate();
  EXPECT_EQ(inference.parameters, training.parameters);
  EXPECT_EQ(inference.gradients + inference.moments + inference.saving, 0u);
}

// What was asked of the backend, in place of counting by hand.
TEST_F(MemoryEstimateTest, ScratchGrowsWithTheLength) {
  const AttentionExtent extent{.longest = 128, .heads = 4, .head_size = 8};
  AttentionExtent longer = extent, relative = extent;
  longer.longest = 512;
  relative.positions = 64;
  EXPECT_GT(kernels_->scratch_bytes(longer), 3 * kernels_->scratch_bytes(extent));
  EXPECT_GT(kernels_->scratch_bytes(relative), kernels_->scratch_bytes(extent));
}

}  // namespace
}  // namespace berth
