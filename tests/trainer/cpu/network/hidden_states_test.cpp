// Compares the distillation of hidden states with values recorded from transformers
// (tests/record/record_hidden_states.py), and its head with finite differences.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "storage/base/philox.h"
#include "storage/base/thread_pool.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "tests/support/expect_near.h"
#include "tests/support/largest.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/heads.h"
#include "trainer/cpu/network/model.h"
#include "trainer/metrics/metrics.h"
#include "trainer/weights/pretrained.h"

namespace berth {
namespace {

constexpr BatchLimits kLimits = {.tokens = 64, .sequences = 8};

struct RecordedStates {
  RecordedStates()
      : file(map_file(BERTH_TESTDATA "/hidden_states/bert.safetensors")),
        recorded(*file->view()),
        pool(2),
        kernels(make_cpu_kernels(pool)) {
    config = parse_config(recorded.metadata().at("config"));
    config.task = Task::kHiddenStateDistillation;
    teacher_config = parse_config(recorded.metadata().at("teacher_config"));
    teacher_config.task = Task::kHiddenStates;
    config.vector_size = teacher_config.num_outputs();
    parameters = std::make_unique<Parameters>(parameter_table(config), true, *kernels);
    report = load_parameters(Selected(recorded, "param."), *parameters);
    model = std::make_unique<Model>(config, kLimits, *parameters, *kernels);
  }

  PackedBatch batch() const {
    PackedBatch batch = recorded_inputs(recorded);
    batch.labels = PackedBatch::Scores{recorded_values<float>(recorded, "states")};
    return batch;
  }
  // Forward and backward over one update of these micro-batches.
  UpdateOutcome run(const std::vector<PackedBatch>& batches) {
    kernels->zero(parameters->gradients());
    state.begin({.seed = 3});
    for (const PackedBatch& each : batches) {
      model->forward(each, state, Phase::kTraining);
      model->backward(state);
    }
    return state.outcome();
  }
  std::vector<float> gradient(size_t parameter) const {
    const Tensor tensor = parameters->gradient(parameter);
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    copy_out(tensor, values.data());
    return values;
  }

  std::unique_ptr<RandomAccessSource> file;
  SafetensorsReader recorded;
  ThreadPool pool;
  std::unique_ptr<Kernels> kernels;
  ModelConfig config, teacher_config;
  std::unique_ptr<Parameters> parameters;
  LoadReport report;
  std::unique_ptr<Model> model;
  StepState state;
};

TEST(HiddenStates, TheTeachersAreThoseOfTransformers) {
  RecordedStates states;
  Parameters parameters(parameter_table(states.teacher_config), /*with_gradients=*/false,
                        *states.kernels);
  const LoadReport report = load_parameters(Selected(states.recorded, "teacher."), parameters);
  EXPECT_TRUE(report.missing.empty());
  EXPECT_TRUE(report.ignored.empty());
  Model teacher(states.teacher_config, kLimits, parameters, *states.kernels);
  const PackedBatch batch = recorded_inputs(states.recorded);
  states.state.begin({});
  teacher.forward(batch, states.state, Phase::kEvaluation);
  const auto expected = recorded_values<float>(states.recorded, "states");
  expect_near(teacher.outputs(), expected, 1e-5 * largest(expected), "states");
}

TEST(HiddenStates, LossAndGradientsAreThoseOfPyTorch) {
  RecordedStates states;
  EXPECT_TRUE(states.report.missing.empty());
  EXPECT_TRUE(states.report.ignored.empty());
  const UpdateOutcome outcome = states.run({states.batch()});
  EXPECT_EQ(outcome.examples, states.batch().num_tokens());
  const float loss = recorded_values<float>(states.recorded, "loss")[0];
  EXPECT_NEAR(outcome.loss_sum / outcome.examples, loss, 1e-5 * loss);
  for (size_t p = 0; p < states.parameters->specs().size(); ++p) {
    const std::string& name = states.parameters->specs()[p].name;
    const auto expected = recorded_values<float>(states.recorded, "grad." + name);
    std::vector<float> ours = states.gradient(p);
    for (float& value : ours) value /= static_cast<float>(outcome.examples);
    // The bias of a key moves all scores of a softmax alike, so its gradient is rounding.
    const double scale = name.ends_with("key.bias") ? 0.1 : largest(expected);
    expect_near(ours, expected, 1e-4 * scale, name);
  }
}

TEST(HiddenStates, EvaluationTellsTheLossAndTheLearntStates) {
  RecordedStates states;
  const PackedBatch batch = states.batch();
  states.state.begin({});
  states.model->forward(batch, states.state, Phase::kEvaluation);
  const double loss = recorded_values<float>(states.recorded, "loss")[0];
  EXPECT_NEAR(states.state.loss_sum / states.state.examples, loss, 1e-5 * loss);
  const std::vector<float> logits = states.model->outputs();
  const std::vector<float>& truths = std::get<PackedBatch::Scores>(batch.labels).values;
  const auto width = static_cast<size_t>(states.config.vector_size);
  SimilarityMetrics metrics;
  for (size_t at = 0; at < logits.size(); at += width) {
    metrics.add(std::span(logits).subspan(at, width), std::span(truths).subspan(at, width));
  }
  EXPECT_NEAR(metrics.metrics().at("cosine_similarity"),
              recorded_values<float>(states.recorded, "cosine")[0], 1e-5);
}

TEST(HiddenStates, ATokenOfWeightTwoCountsTwice) {
  RecordedStates states;
  PackedBatch weighted = states.batch();
  weighted.weights.assign(weighted.input_ids.size(), 2);
  const UpdateOutcome once = states.run({weighted});
  const std::vector<float> gradient = states.gradient(0);
  const UpdateOutcome twice = states.run({states.batch(), states.batch()});
  EXPECT_EQ(once.examples, twice.examples);
  EXPECT_NEAR(once.loss_sum, twice.loss_sum, 1e-6 * twice.loss_sum);
  expect_near(gradient, states.gradient(0), 1e-5 * largest(gradient), "gradient");
}

// The head alone: its loss is a function of the hidden states and of its two parameters.
TEST(HiddenStates, TheHeadsGradientsAreSlopesOfItsLoss) {
  RecordedStates states;
  constexpr int64_t kTokens = 5;
  const int64_t hidden_size = states.config.hidden_size, width = states.config.vector_size;
  Memory memory(1 << 20);
  Arena arena(memory);
  const std::unique_ptr<Head> head = make_head(states.config, *states.parameters, *states.kernels);
  head->allocate(arena, {.tokens = kTokens, .sequences = 1});
  const auto fill = [&](int64_t columns, uint32_t number) {
    const Tensor tensor = arena.make(DType::kF32, {kTokens, columns});
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const uint32_t word = philox4x32({static_cast<uint32_t>(i), number, 0, 0}, {5, 6})[0];
      tensor.f32()[i] = static_cast<float>(word) * 0x1p-31f - 1;
    }
    return tensor;
  };
  const Tensor hidden = fill(hidden_size, 0), dhidden = fill(hidden_size, 1);
  const BatchTensors batch{.targets = fill(width, 2), .num_tokens = kTokens, .num_sequences = 1};
  const auto loss_of = [&](bool training) {
    states.state.begin({});
    const StepContext step{.batch = batch, .state = states.state, .training = training};
    head->forward(step, hidden);
    if (training) head->backward(step, dhidden);
    return states.state.loss_sum;
  };
  states.kernels->zero(states.parameters->gradients());
  loss_of(/*training=*/true);
  const auto expect_slopes = [&](Tensor at, Tensor gradient, const char* name) {
    for (int64_t i = 0; i < at.elements(); ++i) {
      const float before = at.f32()[i];
      constexpr float kDistance = 1e-2f;
      at.f32()[i] = before + kDistance;
      const double above = loss_of(false), high = static_cast<double>(at.f32()[i]);
      at.f32()[i] = before - kDistance;
      const double below = loss_of(false), low = static_cast<double>(at.f32()[i]);
      at.f32()[i] = before;
      // The loss is a square, of which central differences are exact but for rounding.
      ASSERT_NEAR(gradient.f32()[i], (above - below) / (high - low), 2e-4)
          << name << "[" << i << "]";
    }
  };
  expect_slopes(hidden, dhidden, "hidden");
  for (size_t p = 0; p < states.parameters->specs().size(); ++p) {
    const ParameterSpec& spec = states.parameters->specs()[p];
    if (!spec.is_head) continue;
    expect_slopes(states.parameters->value(p), states.parameters->gradient(p), spec.name.c_str());
  }
}

}  // namespace
}  // namespace berth
