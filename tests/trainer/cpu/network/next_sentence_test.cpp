// Compares the pre-training of BERT and ALBERT, by masked tokens and pairs of texts, with values
// recorded from transformers' BertForPreTraining and AlbertForPreTraining
// (tests/record/record_next_sentence.py), and with its own definition.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "storage/base/philox.h"
#include "tests/trainer/cpu/network/recorded_network.h"

namespace berth {
namespace {

constexpr BatchLimits kPairLimits{.tokens = 64, .sequences = 8, .masked = 32};

struct NextUpdate {
  UpdateOutcome outcome;
  std::vector<float> gradients{};
  double mean() const { return outcome.loss_sum / outcome.examples; }
};

struct RecordedPairs : RecordedNetwork {
  explicit RecordedPairs(Task task, int threads = 2)
      : RecordedNetwork(cat(BERTH_TESTDATA "/next_sentence/",
                            task == Task::kNextSentence ? "bert" : "albert", ".safetensors"),
                        threads) {
    config.task = task;
    load();
    model = std::make_unique<Model>(config, kPairLimits, *parameters, *kernels);
  }

  // The recorded batch, or its sequences from `begin` up to, not including, `end`.
  PackedBatch batch(size_t begin = 0, size_t end = 5) const {
    PackedBatch batch = masked_batch(begin, end);
    const auto next = recorded_values<int32_t>(recorded, "next_sentences");
    auto& tokens = std::get<PackedBatch::MaskedTokens>(batch.labels);
    for (size_t b = begin; b < end; ++b) tokens.next_sentences.push_back(next[b]);
    return batch;
  }

  // Forward and backward over one update, cut before each of `cuts`.
  NextUpdate run(const std::vector<size_t>& cuts = {}) {
    const std::vector<PackedBatch> batches =
        cut_update(cuts, 5, [this](size_t begin, size_t end) { return batch(begin, end); });
    kernels->zero(parameters->gradients());
    state.begin({.seed = 9, .step = 4});
    model->begin_update(model->loss_weights(batches));
    for (const PackedBatch& each : batches) {
      model->forward(each, state, Phase::kTraining);
      model->backward(state);
    }
    return {.outcome = state.outcome(), .gradients = all_gradients()};
  }

  std::unique_ptr<Model> model;
};

class TextPairs : public testing::TestWithParam<Task> {};
INSTANTIATE_TEST_SUITE_P(All, TextPairs, testing::Values(Task::kNextSentence, Task::kSentenceOrder),
                         [](const auto& test) { return std::string(task_name(test.param)); });

TEST_P(TextPairs, TheTableHasTheParametersOfTheModelForPreTraining) {
  const RecordedPairs network(GetParam());
  EXPECT_TRUE(network.report.missing.empty());
  EXPECT_TRUE(network.report.ignored.empty());
  EXPECT_EQ(network.parameters->specs().size(),
            Selected(network.recorded, "param.").tensors().size());
}

TEST_P(TextPairs, LossAndGradientsAreTransformers) {
  for (const int threads : {1, 3}) {
    RecordedPairs network(GetParam(), threads);
    const NextUpdate update = network.run();
    const float loss = recorded_values<float>(network.recorded, "loss")[0];
    EXPECT_NEAR(update.mean(), loss, 1e-5 * loss);
    network.expect_gradients(update.outcome.examples);
  }
}

// For each sequence its two logits, and then its masked tokens.
TEST_P(TextPairs, EvaluationTellsLogitsPredictionsAndBothLosses) {
  RecordedPairs network(GetParam());
  const PackedBatch batch = network.batch();
  network.state.begin({});
  network.model->forward(batch, network.state, Phase::kEvaluation);
  const std::vector<float> rows = network.model->outputs();
  const auto logits = recorded_values<float>(network.recorded, "logits");
  const auto losses = recorded_values<float>(network.recorded, "masked_losses");
  const auto predicted = recorded_values<int32_t>(network.recorded, "predicted");
  const auto& masked = std::get<PackedBatch::MaskedTokens>(batch.labels);
  ASSERT_EQ(rows.size(), 2 * (masked.ids.size() + 5));
  size_t row = 0, m = 0;
  for (size_t b = 0; b < 5; ++b) {
    EXPECT_NEAR(rows[2 * row], logits[2 * b], 1e-4) << b;
    EXPECT_NEAR(rows[2 * row + 1], logits[2 * b + 1], 1e-4) << b;
    ++row;
    for (; m < masked.ids.size() && masked.tokens[m] < batch.cu_seqlens[b + 1]; ++m, ++row) {
      EXPECT_NEAR(rows[2 * row], losses[m], 1e-4) << m;
      EXPECT_EQ(rows[2 * row + 1], static_cast<float>(predicted[m])) << m;
    }
  }
  const auto count = static_cast<double>(masked.ids.size());
  EXPECT_NEAR(network.state.loss_sum / count,
              recorded_values<float>(network.recorded, "masked_loss")[0], 1e-4);
  EXPECT_EQ(network.state.examples, count);
  EXPECT_NEAR(network.state.second_loss_sum / 5,
              recorded_values<float>(network.recorded, "next_loss")[0], 1e-5);
  EXPECT_EQ(network.state.second_examples, 5);
}

// The third sequence has no masked token: alone, it still learns its next sentence.
TEST_P(TextPairs, CutsChangeNothing) {
  RecordedPairs network(GetParam());
  const NextUpdate whole = network.run();
  for (const std::vector<size_t>& cuts : {std::vector<size_t>{2}, {1, 4}, {1, 2, 3, 4}}) {
    const NextUpdate cut = network.run(cuts);
    EXPECT_EQ(cut.outcome.examples, whole.outcome.examples);
    EXPECT_NEAR(cut.outcome.loss_sum, whole.outcome.loss_sum, 1e-5 * whole.outcome.loss_sum);
    for (size_t i = 0; i < whole.gradients.size(); ++i) {
      ASSERT_NEAR(cut.gradients[i], whole.gradients[i], 1e-5 * largest(whole.gradients)) << i;
    }
  }
}

// Compares the gradients with central differences of the loss, under dropout, along directions in
// which every parameter moves.
TEST_P(TextPairs, GradientsAreTheSlopesOfTheLoss) {
  RecordedPairs network(GetParam());
  ModelConfig dropping = network.config;
  dropping.hidden_dropout_prob = dropping.attention_probs_dropout_prob = 0.2;
  dropping.classifier_dropout = 0.2;  // BERT's head has no dropout
  network.model =
      std::make_unique<Model>(dropping, kPairLimits, *network.parameters, *network.kernels);
  const NextUpdate at = network.run({2});
  const Tensor values = network.parameters->values();
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
      network.parameters->refresh();
      return network.run({2}).outcome.loss_sum;
    };
    constexpr double kDistance = 1e-4;
    const double measured = (loss_at(kDistance) - loss_at(-kDistance)) / (2 * kDistance);
    EXPECT_NEAR(measured, slope, 0.02 * std::sqrt(squares)) << "direction " << trial;
  }
}

}  // namespace
}  // namespace berth
