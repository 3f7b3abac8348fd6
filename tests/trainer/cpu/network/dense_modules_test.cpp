// Dense modules behind the pooling: what they compute, and gradients that are slopes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "storage/base/philox.h"
#include "storage/base/thread_pool.h"
#include "tests/support/expect_near.h"
#include "tests/support/tiny_config.h"
#include "tests/trainer/cpu/values_of.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/heads.h"

namespace berth {
namespace {

constexpr int64_t kDenseRows = 3, kDenseTokens = 2;

// A head over hidden states, behind two Dense modules.
struct DenseHead {
  explicit DenseHead(Task task, Pooling pooling)
      : pool(1), kernels(make_cpu_kernels(pool)), memory(1 << 20), arena(memory) {
    config = tiny_config();
    config.task = task;
    config.labels.clear();
    config.pooling = pooling;
    config.texts_per_row = 2;
    config.dense_modules = {
        {.folder = "2_Dense", .inputs = 8, .outputs = 5, .activation = Activation::kTanh},
        {.folder = "3_Dense", .inputs = 5, .outputs = 7, .has_bias = false}};
    parameters = std::make_unique<Parameters>(parameter_table(config), true, *kernels);
    initialize(*parameters, 0.5, /*seed=*/4);
    const int64_t sequences = 2 * kDenseRows;
    head = make_head(config, *parameters, *kernels);
    head->allocate(arena, {.tokens = kDenseTokens * sequences, .sequences = sequences});
    const int64_t rows = pooling == Pooling::kCls ? sequences : kDenseTokens * sequences;
    hidden = arena.make(DType::kF32, {rows, config.hidden_size});
    dhidden = arena.make(DType::kF32, {rows, config.hidden_size});
    labels = arena.make(DType::kI32, {kDenseRows});
    cu_seqlens = arena.make(DType::kI32, {sequences + 1});
    for (int64_t i = 0; i < hidden.elements(); ++i) {
      const uint32_t word = philox4x32({static_cast<uint32_t>(i), 0, 0, 0}, {5, 6})[0];
      hidden.f32()[i] = static_cast<float>(word) * 0x1p-31f - 1;
    }
    for (int64_t i = 0; i < kDenseRows; ++i) labels.i32()[i] = static_cast<int32_t>(i);
    for (int64_t i = 0; i <= sequences; ++i) {
      cu_seqlens.i32()[i] = static_cast<int32_t>(kDenseTokens * i);
    }
  }

  Tensor parameter(const std::string& name) {
    for (size_t i = 0; i < parameters->specs().size(); ++i) {
      if (parameters->specs()[i].name == name) return parameters->value(i);
    }
    ADD_FAILURE() << name;
    return {};
  }

  ThreadPool pool;
  std::unique_ptr<Kernels> kernels;
  Memory memory;
  Arena arena;
  ModelConfig config;
  std::unique_ptr<Parameters> parameters;
  std::unique_ptr<Head> head;
  Tensor hidden, dhidden, labels, cu_seqlens;
  StepState state;
};

TEST(DenseModules, MapThePooledStates) {
  DenseHead dense(Task::kTextEmbedding, Pooling::kCls);
  const int64_t sequences = 2 * kDenseRows;
  const BatchTensors batch{.cu_seqlens = dense.cu_seqlens,
                           .num_tokens = kDenseTokens * sequences,
                           .num_sequences = sequences};
  const Tensor made = dense.head->forward({.batch = batch, .state = dense.state}, dense.hidden);
  ASSERT_EQ(made.rows(), sequences);
  ASSERT_EQ(made.columns(), 7);
  const float *first = dense.parameter("dense_modules.0.linear.weight").f32(),
              *bias = dense.parameter("dense_modules.0.linear.bias").f32(),
              *second = dense.parameter("dense_modules.1.linear.weight").f32();
  std::vector<float> expected;
  for (int64_t s = 0; s < sequences; ++s) {
    std::vector<double> middle;
    for (int64_t n = 0; n < 5; ++n) {
      double sum = double{bias[n]};
      for (int64_t k = 0; k < 8; ++k) {
        sum += double{first[n * 8 + k]} * double{dense.hidden.f32()[s * 8 + k]};
      }
      middle.push_back(std::tanh(sum));
    }
    for (int64_t n = 0; n < 7; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < 5; ++k) {
        sum += double{second[n * 5 + k]} * middle[static_cast<size_t>(k)];
      }
      expected.push_back(static_cast<float>(sum));
    }
  }
  std::vector<float> values(expected.size());
  copy_out(made, values.data());
  expect_near(values, expected, 1e-5, "embeddings");
}

class DenseGradients : public testing::TestWithParam<Pooling> {};

TEST_P(DenseGradients, AreSlopes) {
  DenseHead dense(Task::kInBatchNegatives, GetParam());
  dense.config.similarity.scale = 3;
  const BatchTensors batch{.cu_seqlens = dense.cu_seqlens,
                           .labels = dense.labels,
                           .num_tokens = 2 * kDenseRows * kDenseTokens,
                           .num_sequences = 2 * kDenseRows,
                           .sequences_per_example = 2};
  const auto loss = [&](bool training) {
    dense.state.begin({});
    const StepContext step{.batch = batch, .state = dense.state, .training = training};
    dense.head->forward(step, dense.hidden);
    if (training) dense.head->backward(step, dense.dhidden);
    return dense.state.loss_sum;
  };
  dense.kernels->zero(dense.parameters->gradients());
  EXPECT_GT(loss(/*training=*/true), 0);
  const auto expect_slopes = [&](Tensor values, Tensor gradient, const std::string& name) {
    double most = 0;
    for (int64_t i = 0; i < values.elements(); ++i) {
      const float before = values.f32()[i];
      const auto at = [&](float value) {
        values.f32()[i] = value;
        dense.parameters->refresh();
        return loss(false);
      };
      constexpr float kDistance = 4e-3f;
      const double above = at(before + kDistance), below = at(before - kDistance);
      at(before);
      const double slope = (above - below) / (2 * double{kDistance});
      EXPECT_NEAR(double{gradient.f32()[i]}, slope, 4e-3 * std::max(1.0, std::abs(slope)))
          << name << " " << i;
      most = std::max(most, std::abs(slope));
    }
    EXPECT_GT(most, 0.02) << name;
  };
  expect_slopes(dense.hidden, dense.dhidden, "hidden");
  for (size_t i = 0; i < dense.parameters->specs().size(); ++i) {
    const std::string& name = dense.parameters->specs()[i].name;
    if (!name.starts_with("dense_modules.")) continue;
    expect_slopes(dense.parameters->value(i), dense.parameters->gradient(i), name);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DenseGradients,
                         testing::Values(Pooling::kMean, Pooling::kCls, Pooling::kMax));

}  // namespace
}  // namespace berth
