// Compares pre-training by replaced-token detection with values recorded from transformers
// (tests/record/record_replaced_tokens.py), and with its own definition.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "storage/base/philox.h"
#include "tests/trainer/cpu/network/recorded_network.h"
#include "trainer/cpu/optimizer.h"
#include "trainer/model/generator.h"

namespace berth {
namespace {

constexpr UpdateInputs kRecordedUpdate = {.seed = 9, .step = 4};

struct Update {
  UpdateOutcome outcome;
  std::vector<int32_t> replaced{};  // of all micro-batches
  std::vector<float> gradients{};
};

// The recorded generator and discriminator.
struct RecordedPair : RecordedNetwork {
  explicit RecordedPair(int threads = 2)
      : RecordedNetwork(BERTH_TESTDATA "/replaced_tokens/electra.safetensors", threads) {
    config.task = Task::kReplacedTokenDetection;
    config.generator =
        saved_generator(config, parse_config(recorded.metadata().at("generator_config")));
    load();
    model = std::make_unique<ReplacedTokenModel>(
        config, BatchLimits{.tokens = 64, .sequences = 8, .masked = 32}, *parameters, *kernels);
  }

  // The recorded batch, or its sequences from `begin` up to, not including, `end`.
  PackedBatch batch(size_t begin = 0, size_t end = 5) const { return masked_batch(begin, end); }

  // Forward and backward over one update, cut before each of `cuts`.
  Update run(const std::vector<size_t>& cuts = {}, const UpdateInputs& inputs = kRecordedUpdate) {
    const auto part = [this](size_t begin, size_t end) { return batch(begin, end); };
    return run_batches(cut_update(cuts, 5, part), inputs);
  }
  Update run_batches(const std::vector<PackedBatch>& batches,
                     const UpdateInputs& inputs = kRecordedUpdate) {
    kernels->zero(parameters->gradients());
    state.begin(inputs);
    model->begin_update(model->loss_weights(batches));
    Update update;
    for (const PackedBatch& each : batches) {
      model->forward(each, state, Phase::kTraining);
      model->backward(state);
      const std::vector<int32_t>& ids = model->replaced().input_ids;
      update.replaced.insert(update.replaced.end(), ids.begin(), ids.end());
    }
    update.outcome = state.outcome();
    update.gradients = all_gradients();
    return update;
  }

  std::unique_ptr<ReplacedTokenModel> model;
};

void expect_close(const std::vector<float>& actual, const std::vector<float>& expected,
                  double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance * largest(expected)) << i;
  }
}

TEST(ReplacedTokens, TheTableHasBothNetworksAndTheEmbeddingsOnce) {
  const RecordedPair pair;
  EXPECT_TRUE(pair.report.missing.empty());
  EXPECT_TRUE(pair.report.ignored.empty());
  EXPECT_EQ(pair.parameters->specs().size(), Selected(pair.recorded, "param.").tensors().size());
}

TEST(ReplacedTokens, LossAndGradientsAreTransformers) {
  RecordedPair pair;
  const Update update = pair.run();
  EXPECT_EQ(update.replaced, recorded_values<int32_t>(pair.recorded, "replaced_ids"));
  const float loss = recorded_values<float>(pair.recorded, "loss")[0];
  EXPECT_NEAR(update.outcome.loss_sum / update.outcome.examples, loss, 1e-5 * loss);
  pair.expect_gradients(update.outcome.examples);
}

TEST(ReplacedTokens, EvaluationTellsLogitsReplacementsAndBothLosses) {
  RecordedPair pair;
  const PackedBatch batch = pair.batch();
  pair.state.begin({.seed = 1});
  pair.model->forward(batch, pair.state, Phase::kEvaluation);
  const std::vector<float> rows = pair.model->outputs();
  ASSERT_EQ(rows.size(), 4 * batch.input_ids.size());
  const auto& masked = std::get<PackedBatch::MaskedTokens>(batch.labels);
  double generator = 0, discriminator = 0;
  for (size_t t = 0; t < batch.input_ids.size(); ++t) {
    const float* const row = &rows[4 * t];
    const auto place = std::ranges::find(masked.tokens, static_cast<int32_t>(t));
    const bool is_masked = place != masked.tokens.end();
    const int32_t before = is_masked
                               ? masked.ids[static_cast<size_t>(place - masked.tokens.begin())]
                               : batch.input_ids[t];
    EXPECT_EQ(row[1] == 1, pair.model->replaced().input_ids[t] != before) << t;
    EXPECT_EQ(row[3] >= 0, is_masked) << t;
    generator += static_cast<double>(row[2]);
    const double sign = row[1] == 1 ? -1 : 1;
    discriminator += std::log1p(std::exp(sign * static_cast<double>(row[0])));
  }
  EXPECT_NEAR(pair.state.loss_sum, generator, 1e-5 * generator);
  EXPECT_EQ(pair.state.examples, static_cast<double>(masked.ids.size()));
  EXPECT_NEAR(pair.state.second_loss_sum, 50 * discriminator, 1e-3 * discriminator);
  EXPECT_EQ(pair.state.second_examples, static_cast<double>(batch.input_ids.size()));
  const std::vector<int32_t> drawn = pair.model->replaced().input_ids;
  pair.state.begin({.seed = 2, .step = 3});
  pair.model->forward(batch, pair.state, Phase::kEvaluation);
  EXPECT_EQ(pair.model->replaced().input_ids, drawn);
}

TEST(ReplacedTokens, NeitherThreadsNorCutsChangeWhatIsDrawn) {
  RecordedPair two;
  const Update whole = two.run();
  for (const std::vector<size_t>& cuts : {std::vector<size_t>{2}, {1, 4}, {1, 2, 3, 4}}) {
    const Update cut = two.run(cuts);
    EXPECT_EQ(cut.replaced, whole.replaced);
    EXPECT_EQ(cut.outcome.examples, whole.outcome.examples);
    EXPECT_NEAR(cut.outcome.loss_sum, whole.outcome.loss_sum, 1e-5 * whole.outcome.loss_sum);
    expect_close(cut.gradients, whole.gradients, 1e-5);
  }
  for (const int threads : {1, 3}) {
    RecordedPair other(threads);
    const Update update = other.run();
    EXPECT_EQ(update.replaced, whole.replaced) << threads;
    expect_close(update.gradients, whole.gradients, 1e-5);
  }
  EXPECT_NE(two.run({}, {.seed = 9, .step = 5}).replaced, whole.replaced);
  EXPECT_NE(two.run({}, {.seed = 8, .step = 4}).replaced, whole.replaced);
}

TEST(ReplacedTokens, RowsOfWeightTwoCountTwice) {
  RecordedPair pair;
  PackedBatch weighted = pair.batch();
  const auto& tokens = std::get<PackedBatch::MaskedTokens>(weighted.labels).tokens;
  for (const int32_t token : tokens) {
    weighted.weights.push_back(token < weighted.cu_seqlens[2] ? 2.0f : 0.0f);
  }
  const Update once = pair.run_batches({weighted});
  const Update twice = pair.run_batches({pair.batch(0, 2), pair.batch(0, 2)});
  EXPECT_EQ(once.outcome.examples, twice.outcome.examples);
  EXPECT_NEAR(once.outcome.loss_sum, twice.outcome.loss_sum, 1e-5 * twice.outcome.loss_sum);
  expect_close(once.gradients, twice.gradients, 1e-5);
}

// Compares the gradients with central differences of the loss, under dropout, along directions in
// which every parameter moves. The drawn ids stay the same, so the loss is smooth.
TEST(ReplacedTokens, GradientsAreTheSlopesOfTheLoss) {
  RecordedPair pair;
  const ModelConfig dropping = [&] {
    ModelConfig config = pair.config;
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.2;
    config.pad_token_id = -1;  // ids are drawn that stand for padding, whose row has no gradient
    return config;
  }();
  pair.model = std::make_unique<ReplacedTokenModel>(
      dropping, BatchLimits{.tokens = 64, .sequences = 8, .masked = 32}, *pair.parameters,
      *pair.kernels);
  const Update at = pair.run({2});
  const Tensor values = pair.parameters->values();
  const auto size = static_cast<size_t>(values.elements());
  std::vector<float> origin(size), moved(size);
  copy_out(values, origin.data());
  for (uint32_t trial = 0; trial < 4; ++trial) {
    double slope = 0, squares = 0;
    std::vector<double> direction(size);
    for (size_t i = 0; i < size; ++i) {
      direction[i] = (philox4x32({static_cast<uint32_t>(i), trial, 0, 0}, {1, 2})[0] & 1) ? 1 : -1;
      slope += direction[i] * static_cast<double>(at.gradients[i]);
      squares += static_cast<double>(at.gradients[i]) * static_cast<double>(at.gradients[i]);
    }
    const auto loss_at = [&](double distance) {
      for (size_t i = 0; i < size; ++i) {
        moved[i] = static_cast<float>(static_cast<double>(origin[i]) + distance * direction[i]);
      }
      copy_in(values, moved.data());
      pair.parameters->refresh();
      const Update there = pair.run({2});
      EXPECT_EQ(there.replaced, at.replaced);
      return there.outcome.loss_sum;
    };
    constexpr double kDistance = 1e-4;
    const double measured = (loss_at(kDistance) - loss_at(-kDistance)) / (2 * kDistance);
    EXPECT_NEAR(measured, slope, 0.02 * std::sqrt(squares)) << "direction " << trial;
  }
}

// The discriminator's gradients may be kept as products, in memory that the generator uses before.
TEST(ReplacedTokens, KeptGradientsMakeTheSameUpdates) {
  RecordedPair pair;
  ModelConfig config = pair.config;
  config.hidden_size = 384;  // so wide that gradients are kept
  config.intermediate_size = 512;
  config.generator = scaled_generator(config, 0.25);
  const auto train = [&](int64_t update_tokens) {
    Parameters parameters(parameter_table(config), true, *pair.kernels,
                          {.update_tokens = update_tokens});
    initialize(parameters, /*initializer_range=*/0.05, /*seed=*/3);
    ReplacedTokenModel model(config, {.tokens = 40, .sequences = 8, .masked = 32}, parameters,
                             *pair.kernels);
    Optimizer optimizer({.adamw = {.epsilon = 1e-4f}}, parameters, *pair.kernels);
    const PackedBatch batch = pair.batch();
    for (uint64_t step = 0; step < 3; ++step) {
      pair.state.begin({.seed = 5, .step = step, .learning_rate = 1e-2f});
      model.begin_update(model.loss_weights({&batch, 1}));
      model.forward(batch, pair.state, Phase::kTraining);
      model.backward(pair.state);
      optimizer.step(pair.state);
      parameters.refresh();
    }
    const auto kept = std::ranges::count_if(parameters.handles(), &Parameter::keeps_product);
    EXPECT_EQ(kept > 0, update_tokens > 0);
    std::vector<float> values(static_cast<size_t>(parameters.size()));
    copy_out(parameters.values(), values.data());
    return values;
  };
  const std::vector<float> summed = train(0);
  for (const int64_t update_tokens : {40, 1000}) {
    const std::vector<float> kept = train(update_tokens);
    ASSERT_EQ(kept.size(), summed.size());
    for (size_t i = 0; i < kept.size(); ++i) ASSERT_NEAR(kept[i], summed[i], 1e-5f) << i;
  }
}

// A batch without a masked token has nothing to replace, and is no error.
TEST(ReplacedTokens, ABatchWithoutMaskedTokensHasNoLoss) {
  RecordedPair pair;
  PackedBatch batch = pair.batch(0, 2);
  batch.labels = PackedBatch::MaskedTokens{};
  const Update update = pair.run_batches({batch});
  EXPECT_EQ(update.outcome.loss_sum, 0);
  EXPECT_EQ(update.outcome.examples, 0);
  EXPECT_EQ(update.replaced, batch.input_ids);
}

}  // namespace
}  // namespace berth
