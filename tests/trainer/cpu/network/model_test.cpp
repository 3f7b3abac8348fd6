#include "trainer/cpu/network/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "storage/base/philox.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/cpu/network/recorded_model.h"
#include "tests/trainer/cpu/values_of.h"

namespace berth {
namespace {

using testing::Each;
using testing::FloatNear;
using testing::Not;
using testing::Pointwise;

struct Outcome {
  UpdateOutcome step;
  std::vector<float> gradients;
};

class ModelTest : public testing::Test {
 protected:
  static constexpr int kExamples = 7;

  // The recorded model with a dropout of 0.2 everywhere.
  ModelTest() { drop(recorded_); }
  static void drop(RecordedModel& recorded) {
    recorded.config.hidden_dropout_prob = recorded.config.attention_probs_dropout_prob = 0.2;
  }

  // Forward and backward over one update, cut before each of `cuts`.
  static Outcome run(RecordedModel& recorded, const std::vector<size_t>& cuts = {},
                     const UpdateInputs& inputs = {.seed = 9, .step = 4}) {
    Kernels& kernels = *recorded.kernels;
    kernels.zero(recorded.parameters->gradients());
    recorded.state->begin(inputs);
    size_t begin = 0;
    for (size_t i = 0; i <= cuts.size(); ++i) {
      const size_t end = i < cuts.size() ? cuts[i] : kExamples;
      recorded.model->forward(recorded.batch(0, begin, end), *recorded.state, Phase::kTraining);
      recorded.model->backward(*recorded.state);
      begin = end;
    }
    return {.step = recorded.state->outcome(), .gradients = recorded.gradients()};
  }
  Outcome run(const std::vector<size_t>& cuts = {}) { return run(recorded_, cuts); }

  Outcome run_batches(const std::vector<PackedBatch>& batches) {
    recorded_.config.hidden_dropout_prob = recorded_.config.attention_probs_dropout_prob = 0;
    recorded_.kernels->zero(recorded_.parameters->gradients());
    recorded_.state->begin({});
    for (const PackedBatch& batch : batches) {
      recorded_.model->forward(batch, *recorded_.state, Phase::kTraining);
      recorded_.model->backward(*recorded_.state);
    }
    return {.step = recorded_.state->outcome(), .gradients = recorded_.gradients()};
  }

  std::vector<float> logits(const PackedBatch& batch, Phase phase,
                            const UpdateInputs& inputs = {}) {
    recorded_.state->begin(inputs);
    recorded_.model->forward(batch, *recorded_.state, phase);
    return recorded_.model->outputs();
  }

  static void expect_close(const std::vector<float>& actual, const std::vector<float>& expected,
                           float tolerance) {
    float largest = 0;
    for (const float value : expected) largest = std::max(largest, std::abs(value));
    EXPECT_THAT(actual, Pointwise(FloatNear(tolerance * largest), expected));
  }

  RecordedModel recorded_;
};

TEST_F(ModelTest, HowAnUpdateIsCutDoesNotMatter) {
  const Outcome whole = run();
  for (const std::vector<size_t>& cuts :
       {std::vector<size_t>{3}, {1, 2}, {6}, {1, 2, 3, 4, 5, 6}}) {
    const Outcome cut = run(cuts);
    EXPECT_EQ(cut.step.examples, kExamples);
    EXPECT_NEAR(cut.step.loss_sum, whole.step.loss_sum, 1e-5 * whole.step.loss_sum);
    expect_close(cut.gradients, whole.gradients, 1e-5f);
  }
}

TEST_F(ModelTest, AWeightOfTwoCountsAnExampleTwice) {
  PackedBatch weighted = recorded_.batch(0);
  weighted.weights = {0, 0, 0, 2, 0, 0, 1};
  const Outcome once = run_batches({weighted});
  const Outcome twice =
      run_batches({recorded_.batch(0, 3, 4), recorded_.batch(0, 3, 4), recorded_.batch(0, 6, 7)});
  EXPECT_EQ(once.step.examples, 3);
  EXPECT_NEAR(once.step.loss_sum, twice.step.loss_sum, 1e-5 * twice.step.loss_sum);
  expect_close(once.gradients, twice.gradients, 1e-5f);
}

TEST_F(ModelTest, LabelsAreSmoothedOnlyInTraining) {
  Model smoothed(recorded_.config, BatchLimits{.tokens = 256, .sequences = 16},
                 *recorded_.parameters, *recorded_.kernels, {.label_smoothing = 0.2});
  const auto loss = [&](Model& model, Phase phase) {
    recorded_.state->begin({});
    model.forward(recorded_.batch(0), *recorded_.state, phase);
    return recorded_.state->outcome().loss_sum;
  };
  EXPECT_EQ(loss(smoothed, Phase::kEvaluation), loss(*recorded_.model, Phase::kEvaluation));
  EXPECT_NE(loss(smoothed, Phase::kTraining), loss(*recorded_.model, Phase::kTraining));
}

// The recorded model has classes of sequences. Tags and sets have heads of their own.
TEST_F(ModelTest, AFocalLossIsOnlyOfTraining) {
  for (const Task task :
       {Task::kSequenceClassification, Task::kTokenClassification, Task::kMultiLabel}) {
    ModelConfig config = recorded_.config;
    config.task = task;
    Kernels& kernels = *recorded_.kernels;
    Parameters parameters(parameter_table(config), /*with_gradients=*/false, kernels);
    std::vector<size_t> every(parameters.specs().size());
    std::iota(every.begin(), every.end(), size_t{0});
    initialize(parameters, every, /*range=*/0.3, /*seed=*/1);
    PackedBatch batch = recorded_.batch(0);
    const auto classes = static_cast<size_t>(config.num_outputs());
    if (task == Task::kTokenClassification) {
      batch.labels = PackedBatch::TokenClasses{std::vector<int32_t>(batch.input_ids.size(), 1)};
    } else if (task == Task::kMultiLabel) {
      batch.labels = PackedBatch::ClassSets{std::vector<float>(kExamples * classes, 1)};
    }
    const BatchLimits limits{.tokens = 256, .sequences = 16};
    Model plain(config, limits, parameters, kernels);
    Model focal(config, limits, parameters, kernels, {.focal_gamma = 2});
    const auto loss = [&](Model& model, Phase phase) {
      recorded_.state->begin({});
      model.forward(batch, *recorded_.state, phase);
      return recorded_.state->outcome().loss_sum;
    };
    EXPECT_EQ(loss(focal, Phase::kEvaluation), loss(plain, Phase::kEvaluation));
    EXPECT_LT(loss(focal, Phase::kTraining), 0.9 * loss(plain, Phase::kTraining));
  }
}

TEST_F(ModelTest, DropoutDependsOnThePlaceInTheUpdate) {
  PackedBatch second = recorded_.batch(0, 3);
  const UpdateInputs inputs{.seed = 9};
  const std::vector<float> placed = logits(second, Phase::kTraining, inputs);
  second.first_token = 0;
  EXPECT_NE(logits(second, Phase::kTraining, inputs), placed);
  second = recorded_.batch(0, 3);
  second.first_sequence = 0;
  EXPECT_NE(logits(second, Phase::kTraining, inputs), placed);
}

TEST_F(ModelTest, SequencesOfAPackedBatchDoNotSeeEachOther) {
  const std::vector<float> packed = logits(recorded_.batch(0), Phase::kEvaluation);
  std::vector<float> alone;
  for (size_t i = 0; i < kExamples; ++i) {
    const auto one = logits(recorded_.batch(0, i, i + 1), Phase::kEvaluation);
    alone.insert(alone.end(), one.begin(), one.end());
  }
  expect_close(packed, alone, 1e-5f);
}

// The last layer computes only the rows of the masked tokens.
TEST_F(ModelTest, LossesOfSomeMaskedTokensEqualThoseOfAll) {
  ModelConfig config = recorded_.config;
  config.task = Task::kMaskedLm;
  Kernels& kernels = *recorded_.kernels;
  Parameters parameters(parameter_table(config), /*with_gradients=*/false, kernels);
  std::vector<size_t> every(parameters.specs().size());
  std::iota(every.begin(), every.end(), size_t{0});
  initialize(parameters, every, /*range=*/0.3, /*seed=*/1);
  Model model(config, BatchLimits{.tokens = 256, .sequences = 16}, parameters, kernels);
  PackedBatch batch = recorded_.batch(0);
  const auto told = [&](const std::vector<int32_t>& tokens) {
    batch.labels = PackedBatch::MaskedTokens{tokens, std::vector<int32_t>(tokens.size(), 1)};
    recorded_.state->begin({.seed = 3});
    model.forward(batch, *recorded_.state, Phase::kTraining);
    return model.outputs();
  };
  std::vector<int32_t> all(batch.input_ids.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int32_t> some = {0, 3, 4, all.back()};
  const std::vector<float> of_all = told(all);
  std::vector<float> expected;
  for (const int32_t token : some) {
    const auto row = of_all.begin() + 2 * token;  // the loss and the predicted id
    expected.insert(expected.end(), row, row + 2);
  }
  expect_close(told(some), expected, 1e-5f);
  EXPECT_TRUE(told({}).empty());
}

TEST_F(ModelTest, EvaluationDropsNothing) {
  const auto evaluated = logits(recorded_.batch(0), Phase::kEvaluation, {.seed = 1});
  EXPECT_EQ(logits(recorded_.batch(0), Phase::kEvaluation, {.seed = 2, .step = 5}), evaluated);
  EXPECT_NE(logits(recorded_.batch(0), Phase::kTraining, {.seed = 1}), evaluated);
  recorded_.config.hidden_dropout_prob = recorded_.config.attention_probs_dropout_prob = 0;
  EXPECT_EQ(logits(recorded_.batch(0), Phase::kTraining, {.seed = 1}), evaluated);
}

TEST_F(ModelTest, SeedAndStepDecideWhatIsDropped) {
  const auto first = logits(recorded_.batch(0), Phase::kTraining, {.seed = 1, .step = 1});
  EXPECT_EQ(logits(recorded_.batch(0), Phase::kTraining, {.seed = 1, .step = 1}), first);
  EXPECT_NE(logits(recorded_.batch(0), Phase::kTraining, {.seed = 2, .step = 1}), first);
  EXPECT_NE(logits(recorded_.batch(0), Phase::kTraining, {.seed = 1, .step = 2}), first);
}

TEST_F(ModelTest, RepeatsBitForBit) {
  const Outcome first = run({2, 5}), again = run({2, 5});
  EXPECT_EQ(first.step.loss_sum, again.step.loss_sum);
  EXPECT_EQ(first.gradients, again.gradients);
  RecordedModel fresh;
  drop(fresh);
  EXPECT_EQ(run(fresh, {2, 5}).gradients, first.gradients);
}

TEST_F(ModelTest, OneThreadComputesWhatTwoDo) {
  RecordedModel single(1);
  drop(single);
  const Outcome two = run(), one = run(single);
  EXPECT_NEAR(one.step.loss_sum, two.step.loss_sum, 1e-5 * two.step.loss_sum);
  expect_close(one.gradients, two.gradients, 1e-5f);
}

// Compares the gradients with central differences of the loss along a random direction.
TEST_F(ModelTest, GradientsAreTheSlopesOfTheLoss) {
  const Outcome at = run();
  Tensor values = recorded_.parameters->values();
  const auto size = static_cast<size_t>(values.elements());
  std::vector<float> origin(size), moved(size);
  copy_out(values, origin.data());

  const auto loss_at = [&](double distance, const std::vector<double>& direction) {
    for (size_t i = 0; i < size; ++i) {
      moved[i] = static_cast<float>(origin[i] + distance * direction[i]);
    }
    copy_in(values, moved.data());
    recorded_.parameters->refresh();
    return run().step.loss_sum;
  };
  for (uint32_t trial = 0; trial < 4; ++trial) {
    std::vector<double> direction(size);
    double slope = 0, expected_scale = 0;
    for (size_t i = 0; i < size; ++i) {
      direction[i] = (philox4x32({static_cast<uint32_t>(i), trial, 0, 0}, {1, 2})[0] & 1) ? 1 : -1;
      slope += direction[i] * at.gradients[i];
      expected_scale += static_cast<double>(at.gradients[i]) * at.gradients[i];
    }
    const double h = 2e-4;
    const double measured = (loss_at(h, direction) - loss_at(-h, direction)) / (2 * h);
    EXPECT_NEAR(measured, slope, 0.02 * std::sqrt(expected_scale)) << "direction " << trial;
  }
}

TEST_F(ModelTest, EmbeddingsOfUnusedIdsHaveNoGradient) {
  const Outcome outcome = run();
  const Tensor words = recorded_.parameters->value(0);
  const std::vector<int32_t> used = recorded_.batch(0).input_ids;
  for (int64_t id = 0; id < words.rows(); ++id) {
    const bool seen = std::find(used.begin(), used.end(), id) != used.end();
    const auto begin = outcome.gradients.begin() + id * words.columns();
    const std::vector<float> row(begin, begin + words.columns());
    if (seen) {
      EXPECT_THAT(row, Not(Each(0.0f))) << id;
    } else {
      EXPECT_THAT(row, Each(0.0f)) << id;
    }
  }
}

TEST_F(ModelTest, AnUnlabelledBatchAddsNoLoss) {
  PackedBatch batch = recorded_.batch(0);
  const auto labelled = logits(batch, Phase::kEvaluation);
  batch.labels = std::monostate();
  EXPECT_EQ(logits(batch, Phase::kEvaluation), labelled);
  const UpdateOutcome outcome = recorded_.state->outcome();
  EXPECT_EQ(outcome.examples, 0);
  EXPECT_EQ(outcome.loss_sum, 0);
}

TEST_F(ModelTest, ASmallerBatchAfterALargerOneSeesNothingOfIt) {
  const auto alone = logits(recorded_.batch(1, 0, 2), Phase::kEvaluation);
  logits(recorded_.batch(0), Phase::kEvaluation);
  EXPECT_EQ(logits(recorded_.batch(1, 0, 2), Phase::kEvaluation), alone);
}

TEST_F(ModelTest, NewParametersCountAfterRefresh) {
  const auto before = logits(recorded_.batch(0), Phase::kEvaluation);
  const Tensor weight = recorded_.parameters->value("classifier.weight");
  copy_in(weight, std::vector<float>(3 * 24).data());
  recorded_.parameters->refresh();
  const auto after = logits(recorded_.batch(0), Phase::kEvaluation);
  EXPECT_NE(after, before);
  EXPECT_THAT(std::vector<float>(after.begin() + 3, after.begin() + 6),
              Pointwise(FloatNear(0), std::vector<float>(after.begin(), after.begin() + 3)));
}

TEST_F(ModelTest, LimitsThatDoNotFitAreRefused) {
  const BatchLimits limits{.tokens = int64_t{1} << 40, .sequences = 1};
  EXPECT_THAT([&] { Model(recorded_.config, limits, *recorded_.parameters, *recorded_.kernels); },
              ThrowsCode(Code::kMemory));
}

}  // namespace
}  // namespace berth
