// Compares the options of training with the CPU engine.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "storage/base/error.h"
#include "tests/trainer/xla/network/compare_updates.h"

namespace berth {
namespace {

TEST(Options, TenBertUpdatesMatchTheCpu) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  expect_equal_updates(recorded, 10);
}

TEST(Options, LabelSmoothingMatchesTheCpu) {
  for (const char* name : {"bert-sequence", "bert-token", "bert-masked"}) {
    SCOPED_TRACE(name);
    RecordedCase recorded(name, /*drops=*/true);
    recorded.options.loss.label_smoothing = 0.1;
    expect_equal_updates(recorded, 2);
  }
}

TEST(Options, FocalLossesMatchTheCpu) {
  for (const char* name : {"bert-sequence", "bert-sets", "bert-token"}) {
    SCOPED_TRACE(name);
    RecordedCase recorded(name, /*drops=*/true);
    recorded.options.loss.focal_gamma = 2;
    expect_equal_updates(recorded, 2);
  }
}

TEST(Options, PositiveWeightsMatchTheCpu) {
  for (const double gamma : {0.0, 2.0}) {
    RecordedCase recorded("bert-sets", /*drops=*/true);
    LossOptions& loss = recorded.options.loss;
    loss.focal_gamma = gamma;
    for (int64_t i = 0; i < recorded.options.config.num_outputs(); ++i) {
      loss.positive_weights.push_back(0.5f + 2.5f * static_cast<float>(i));
    }
    expect_equal_updates(recorded, 2);
  }
}

TEST(Options, LabelWeightsMatchTheCpu) {
  for (const char* name : {"bert-sequence", "bert-score", "bert-sets", "bert-token", "bert-qa"}) {
    SCOPED_TRACE(name);
    RecordedCase recorded(name, /*drops=*/true);
    recorded.options.loss.label_smoothing = 0.2;
    const int64_t labels = std::holds_alternative<PackedBatch::TokenClasses>(recorded.batch.labels)
                               ? recorded.batch.num_tokens()
                               : recorded.batch.num_sequences();
    for (int64_t i = 0; i < labels; ++i) {
      recorded.batch.weights.push_back(0.5f + 0.25f * static_cast<float>(i % 4));
    }
    expect_equal_updates(recorded, 2);
  }
}

TEST(Options, HiddenStatesMatchTheCpu) {
  RecordedCase recorded("bert-token", /*drops=*/true);
  recorded.options.config.task = Task::kHiddenStateDistillation;
  recorded.options.config.vector_size = 5;
  std::vector<float> states;
  for (int64_t i = 0; i < 5 * recorded.batch.num_tokens(); ++i) {
    states.push_back(std::sin(static_cast<float>(3 * i)));
  }
  recorded.batch.labels = PackedBatch::Scores{states};
  for (int64_t t = 0; t < recorded.batch.num_tokens(); ++t) {
    recorded.batch.weights.push_back(0.5f + 0.25f * static_cast<float>(t % 4));
  }
  expect_equal_updates(recorded, 3);
}

TEST(Options, LambMatchesTheCpu) {
  for (const char* name : {"bert-sequence", "deberta-v2-token"}) {
    SCOPED_TRACE(name);
    RecordedCase recorded(name, /*drops=*/true);
    recorded.options.optimizer.type = OptimizerType::kLamb;
    expect_equal_updates(recorded, 5);
  }
}

TEST(Options, OptimizerOptionsMatchTheCpu) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  recorded.options.optimizer = {.adamw = {.beta1 = 0.8f, .beta2 = 0.95f, .epsilon = 1e-6f},
                                .weight_decay = 0.3,
                                .max_grad_norm = 0,
                                .layerwise_decay = 0.7};
  expect_equal_updates(recorded, 5);
  for (const double norm : {0.01, 1000.0}) {
    RecordedCase clipped("bert-sequence", /*drops=*/true);
    clipped.options.optimizer.max_grad_norm = norm;
    expect_equal_updates(clipped, 5);
  }
}

TEST(Options, FrozenParametersMatchTheCpu) {
  for (const char* name : {"bert-sequence", "deberta-v2-token", "albert-sequence"}) {
    for (const int64_t depth : {1, 2}) {
      SCOPED_TRACE(name);
      RecordedCase recorded(name, /*drops=*/true);
      recorded.options.optimizer.first_depth = depth;
      expect_equal_updates(recorded, 3);
    }
  }
}

TEST(Options, AdaptersMatchTheCpu) {
  for (const char* name : {"bert-sequence", "distilbert-token", "albert-sequence", "deberta-v2-qa",
                           "electra-masked", "roberta-sequence"}) {
    SCOPED_TRACE(name);
    RecordedCase recorded(name, /*drops=*/true);
    recorded.options.lora = {
        .rank = 3, .alpha = 6, .dropout = 0.25, .target_modules = "all-linear"};
    expect_equal_updates(recorded, 3);
  }
}

TEST(Options, RecomputationMatchesTheCpu) {
  for (const char* name : {"bert-sequence", "deberta-v2-convolved-sequence", "albert-token"}) {
    SCOPED_TRACE(name);
    RecordedCase recorded(name, /*drops=*/true);
    recorded.options.recomputes = true;
    const Program program = training_program(recorded.options, recorded.shape());
    EXPECT_NE(program.text().find("optimization_barrier"), std::string::npos);
    expect_equal_updates(recorded, 2);
  }
}

// The CPU engine runs in fp32 here, so bf16 is compared with fp32 programs.
TEST(Options, Bf16IsCloseToFp32) {
  RecordedCase recorded("bert-masked", /*drops=*/true);
  NamedArrays arrays = recorded.values();
  arrays.merge(recorded.inputs({.seed = 1, .step = 0, .learning_rate = 1e-3f}));
  NamedArrays rounded = arrays;
  run(training_program(recorded.options, recorded.shape()), arrays);
  recorded.options.product_dtype = DType::kBF16;
  const Program program = training_program(recorded.options, recorded.shape());
  EXPECT_NE(program.text().find("bf16"), std::string::npos);
  run(program, rounded);
  const std::vector<double>&expected = arrays.at("outcome").numbers,
        &found = rounded.at("outcome").numbers;
  EXPECT_NE(found[0], expected[0]);
  EXPECT_NEAR(found[0], expected[0], 0.01 * expected[0]);
  EXPECT_NEAR(found[2], expected[2], 0.05 * expected[2]);
}

TEST(Options, MicroBatchesEqualOneBatch) {
  RecordedCase whole("bert-sequence", /*drops=*/true);
  const UpdateInputs update{.seed = 7, .step = 3, .learning_rate = 1e-3f};
  NamedArrays at_once = whole.values();
  at_once.merge(whole.inputs(update));
  NamedArrays in_parts = at_once;
  run(training_program(whole.options, whole.shape()), at_once);

  for (const auto& [first, end] :
       {std::pair<size_t, size_t>(0, 2), std::pair<size_t, size_t>(2, 5)}) {
    RecordedCase part("bert-sequence", /*drops=*/true, part_of(whole.batch, first, end));
    for (auto& [name, array] : part.inputs(update)) in_parts[name] = array;
    run(accumulation_program(part.options, part.shape()), in_parts);
  }
  EXPECT_NEAR(in_parts.at("sums").numbers[1], 5, 1e-9);
  run(application_program(whole.options), in_parts);
  for (const auto& [name, array] : at_once) {
    if (!name.starts_with("value:") && !name.starts_with("first_moment:") && name != "outcome") {
      continue;
    }
    for (size_t i = 0; i < array.numbers.size(); ++i) {
      ASSERT_NEAR(in_parts.at(name).numbers[i], array.numbers[i], 1e-6) << name;
    }
  }
  EXPECT_EQ(in_parts.at("sums").numbers, std::vector<double>(2));
}

TEST(Options, ANonFiniteUpdateChangesNothing) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  NamedArrays arrays = recorded.values();
  arrays.merge(recorded.inputs({.seed = 1, .step = 0, .learning_rate = 1e-3f}));
  arrays.at("weights").numbers[1] = std::numeric_limits<double>::infinity();
  const NamedArrays before = arrays;
  run(training_program(recorded.options, recorded.shape()), arrays);
  EXPECT_FALSE(std::isfinite(arrays.at("outcome").numbers[0]));
  for (const auto& [name, array] : before) {
    if (name.starts_with("value:") || name.starts_with("first_moment:")) {
      EXPECT_EQ(arrays.at(name).numbers, array.numbers) << name;
    }
  }
}

TEST(Options, EqualProgramsHaveEqualTexts) {
  const RecordedCase recorded("deberta-v2-convolved-sequence", /*drops=*/true);
  const std::string text = training_program(recorded.options, recorded.shape()).text();
  EXPECT_EQ(training_program(recorded.options, recorded.shape()).text(), text);
  EXPECT_NE(text.find("tf.aliasing_output"), std::string::npos);
}

}  // namespace
}  // namespace berth
