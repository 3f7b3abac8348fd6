// Compares the whole model to values recorded from PyTorch and transformers.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "storage/base/error.h"
#include "tests/support/largest.h"
#include "tests/trainer/cpu/network/recorded_model.h"
#include "trainer/cpu/optimizer.h"
#include "trainer/inputs/schedule.h"

namespace berth {
namespace {

constexpr double kTolerance = 1e-4;  // relative to the largest value of the tensor

TEST(BertParityTest, LogitsOfAPackedBatchAreTorchs) {
  RecordedModel recorded;
  recorded.state->begin({});
  recorded.model->forward(recorded.batch(0), *recorded.state, Phase::kEvaluation);
  const std::vector<float> logits = recorded.model->outputs();
  const auto expected = recorded.values<float>("logits");
  ASSERT_EQ(logits.size(), expected.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    EXPECT_NEAR(logits[i], expected[i], kTolerance * largest(expected)) << i;
  }
}

TEST(BertParityTest, EveryGradientIsTorchs) {
  RecordedModel recorded;
  recorded.state->begin({});
  recorded.model->forward(recorded.batch(0), *recorded.state, Phase::kTraining);
  recorded.model->backward(*recorded.state);
  const double examples = recorded.state->outcome().examples;
  const std::vector<float> gradients = recorded.gradients();
  for (size_t p = 0; p < recorded.parameters->specs().size(); ++p) {
    const std::string& name = recorded.parameters->specs()[p].name;
    const auto expected = recorded.values<float>("grad." + name);
    const float* ours = gradients.data() + recorded.parameters->offset(p);
    // The key's bias adds the same to every score of a query, so its true gradient is 0.
    const double scale = std::max(largest(expected), name.ends_with("key.bias") ? 1.0 : 0.0);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(ours[i] / examples, expected[i], kTolerance * scale) << name << "[" << i << "]";
    }
  }
}

void expect_ten_losses(RecordedModel& recorded, double tolerance) {
  Optimizer optimizer({.weight_decay = 0.01, .max_grad_norm = 1.0}, *recorded.parameters,
                      *recorded.kernels);
  const Schedule schedule(
      {.peak_rate = 2e-3, .warmup_steps = 2, .total_steps = RecordedModel::kUpdates});
  const auto expected = recorded.values<float>("losses");
  for (int step = 0; step < RecordedModel::kUpdates; ++step) {
    recorded.state->begin({.step = static_cast<uint64_t>(step),
                           .learning_rate = static_cast<float>(schedule.rate(step))});
    // Two micro-batches of 3 and 4 examples make one update; the loss is summed over both.
    for (const PackedBatch& batch : {recorded.batch(step, 0, 3), recorded.batch(step, 3)}) {
      recorded.model->forward(batch, *recorded.state, Phase::kTraining);
      recorded.model->backward(*recorded.state);
    }
    optimizer.step(*recorded.state);
    recorded.parameters->refresh();
    const UpdateOutcome outcome = recorded.state->outcome();
    const float loss = expected[static_cast<size_t>(step)];
    EXPECT_NEAR(outcome.loss_sum / outcome.examples, loss, tolerance * loss) << "step " << step;
  }
}

TEST(BertParityTest, TenLossesAreTorchs) {
  RecordedModel recorded;
  expect_ten_losses(recorded, kTolerance);
}

TEST(BertParityTest, TenLossesInBf16AreNearTorchs) {
  for (const char* instruction_set : {"baseline", "avx512"}) {
    try {
      RecordedModel recorded(2, instruction_set, Precision::kBf16);
      expect_ten_losses(recorded, 0.02);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Code::kUsage) << error.what();
      std::cerr << "NOT TESTED HERE: " << error.what() << "\n";
    }
  }
}

}  // namespace
}  // namespace berth
