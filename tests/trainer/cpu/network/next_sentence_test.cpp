// Compares BERT's own pre-training, by masked tokens and next sentences, with values recorded from
// transformers' BertForPreTraining (tests/record/record_next_sentence.py), and with its own
// definition.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "storage/base/philox.h"
#include "storage/base/thread_pool.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "tests/support/largest.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "tests/trainer/cpu/values_of.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/model.h"

namespace berth {
namespace {

constexpr BatchLimits kPairLimits{.tokens = 64, .sequences = 8, .masked = 32};

struct NextUpdate {
  UpdateOutcome outcome;
  std::vector<float> gradients{};
  double mean() const { return outcome.loss_sum / outcome.examples; }
};

struct RecordedBert {
  explicit RecordedBert(int threads = 2)
      : file(map_file(BERTH_TESTDATA "/next_sentence/bert.safetensors")),
        recorded(*file->view()),
        pool(threads),
        kernels(make_cpu_kernels(pool)) {
    config = parse_config(recorded.metadata().at("config"));
    config.task = Task::kNextSentence;
    parameters = std::make_unique<Parameters>(parameter_table(config), true, *kernels);
    report = load_parameters(Selected(recorded, "param."), *parameters);
    model = std::make_unique<Model>(config, kPairLimits, *parameters, *kernels);
  }

  // The recorded batch, or its sequences from `begin` up to, not including, `end`.
  PackedBatch batch(size_t begin = 0, size_t end = 5) const {
    const PackedBatch whole = recorded_inputs(recorded);
    const auto masked = recorded_values<int32_t>(recorded, "masked");
    const auto labels = recorded_values<int32_t>(recorded, "labels");
    const auto next = recorded_values<int32_t>(recorded, "next_sentences");
    const int32_t first = whole.cu_seqlens[begin], last = whole.cu_seqlens[end];
    const auto part = [&](const std::vector<int32_t>& of) {
      return std::vector<int32_t>(of.begin() + first, of.begin() + last);
    };
    PackedBatch batch;
    batch.input_ids = part(whole.input_ids);
    batch.token_type_ids = part(whole.token_type_ids);
    batch.position_ids = part(whole.position_ids);
    PackedBatch::MaskedTokens tokens;
    for (size_t b = begin; b < end; ++b) {
      batch.cu_seqlens.push_back(whole.cu_seqlens[b + 1] - first);
      tokens.next_sentences.push_back(next[b]);
    }
    for (size_t m = 0; m < masked.size(); ++m) {
      if (masked[m] < first || masked[m] >= last) continue;
      tokens.tokens.push_back(masked[m] - first);
      tokens.ids.push_back(labels[m]);
    }
    batch.labels = tokens;
    batch.first_token = static_cast<uint64_t>(first);
    batch.first_sequence = begin;
    return batch;
  }

  // Forward and backward over one update, cut before each of `cuts`.
  NextUpdate run(const std::vector<size_t>& cuts = {}) {
    std::vector<PackedBatch> batches;
    size_t begin = 0;
    for (const size_t cut : cuts) {
      batches.push_back(batch(begin, cut));
      begin = cut;
    }
    batches.push_back(batch(begin));
    kernels->zero(parameters->gradients());
    state.begin({.seed = 9, .step = 4});
    model->begin_update(model->loss_weights(batches));
    for (const PackedBatch& each : batches) {
      model->forward(each, state, Phase::kTraining);
      model->backward(state);
    }
    NextUpdate update{.outcome = state.outcome()};
    update.gradients.resize(static_cast<size_t>(parameters->gradients().elements()));
    copy_out(parameters->gradients(), update.gradients.data());
    return update;
  }

  std::unique_ptr<RandomAccessSource> file;
  SafetensorsReader recorded;
  ThreadPool pool;
  std::unique_ptr<Kernels> kernels;
  ModelConfig config;
  std::unique_ptr<Parameters> parameters;
  LoadReport report;
  std::unique_ptr<Model> model;
  StepState state;
};

TEST(NextSentences, TheTableHasTheParametersOfBertForPreTraining) {
  const RecordedBert bert;
  EXPECT_TRUE(bert.report.missing.empty());
  EXPECT_TRUE(bert.report.ignored.empty());
  EXPECT_EQ(bert.parameters->specs().size(), Selected(bert.recorded, "param.").tensors().size());
}

TEST(NextSentences, LossAndGradientsAreTransformers) {
  for (const int threads : {1, 3}) {
    RecordedBert bert(threads);
    const NextUpdate update = bert.run();
    const float loss = recorded_values<float>(bert.recorded, "loss")[0];
    EXPECT_NEAR(update.mean(), loss, 1e-5 * loss);
    for (size_t p = 0; p < bert.parameters->specs().size(); ++p) {
      const std::string& name = bert.parameters->specs()[p].name;
      const auto expected = recorded_values<float>(bert.recorded, "grad." + name);
      std::vector<float> ours(expected.size());
      copy_out(bert.parameters->gradient(p), ours.data());
      // The bias of a key moves all scores of a softmax alike, so its gradient is rounding.
      const double scale = std::max(largest(expected), name.ends_with("key.bias") ? 1.0 : 0.0);
      for (size_t i = 0; i < ours.size(); ++i) {
        ASSERT_NEAR(ours[i] / update.outcome.examples, expected[i], 1e-4 * scale)
            << name << "[" << i << "]";
      }
    }
  }
}

// For each sequence its two logits, and then its masked tokens.
TEST(NextSentences, EvaluationTellsLogitsPredictionsAndBothLosses) {
  RecordedBert bert;
  const PackedBatch batch = bert.batch();
  bert.state.begin({});
  bert.model->forward(batch, bert.state, Phase::kEvaluation);
  const std::vector<float> rows = bert.model->outputs();
  const auto logits = recorded_values<float>(bert.recorded, "logits");
  const auto losses = recorded_values<float>(bert.recorded, "masked_losses");
  const auto predicted = recorded_values<int32_t>(bert.recorded, "predicted");
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
  EXPECT_NEAR(bert.state.loss_sum / count, recorded_values<float>(bert.recorded, "masked_loss")[0],
              1e-4);
  EXPECT_EQ(bert.state.examples, count);
  EXPECT_NEAR(bert.state.second_loss_sum / 5, recorded_values<float>(bert.recorded, "next_loss")[0],
              1e-5);
  EXPECT_EQ(bert.state.second_examples, 5);
}

// The third sequence has no masked token: alone, it still learns its next sentence.
TEST(NextSentences, CutsChangeNothing) {
  RecordedBert bert;
  const NextUpdate whole = bert.run();
  for (const std::vector<size_t>& cuts : {std::vector<size_t>{2}, {1, 4}, {1, 2, 3, 4}}) {
    const NextUpdate cut = bert.run(cuts);
    EXPECT_EQ(cut.outcome.examples, whole.outcome.examples);
    EXPECT_NEAR(cut.outcome.loss_sum, whole.outcome.loss_sum, 1e-5 * whole.outcome.loss_sum);
    for (size_t i = 0; i < whole.gradients.size(); ++i) {
      ASSERT_NEAR(cut.gradients[i], whole.gradients[i], 1e-5 * largest(whole.gradients)) << i;
    }
  }
}

// Compares the gradients with central differences of the loss, under dropout, along directions in
// which every parameter moves.
TEST(NextSentences, GradientsAreTheSlopesOfTheLoss) {
  RecordedBert bert;
  ModelConfig dropping = bert.config;
  dropping.hidden_dropout_prob = dropping.attention_probs_dropout_prob = 0.2;
  bert.model = std::make_unique<Model>(dropping, kPairLimits, *bert.parameters, *bert.kernels);
  const NextUpdate at = bert.run({2});
  const Tensor values = bert.parameters->values();
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
      bert.parameters->refresh();
      return bert.run({2}).outcome.loss_sum;
    };
    constexpr double kDistance = 1e-4;
    const double measured = (loss_at(kDistance) - loss_at(-kDistance)) / (2 * kDistance);
    EXPECT_NEAR(measured, slope, 0.02 * std::sqrt(squares)) << "direction " << trial;
  }
}

}  // namespace
}  // namespace berth
