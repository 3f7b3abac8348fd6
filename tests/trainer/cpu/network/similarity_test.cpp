// Compares embeddings, and the losses that train them, with values recorded from PyTorch
// (tests/record/record_similarity.py), and their gradients with finite differences.

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "storage/base/philox.h"
#include "tests/support/expect_near.h"
#include "tests/trainer/cpu/network/recorded_network.h"
#include "trainer/cpu/network/heads.h"

namespace berth {
namespace {

struct RecordedTexts : RecordedNetwork {
  RecordedTexts(Task task, Pooling pooling, int64_t texts = 2)
      : RecordedNetwork(BERTH_TESTDATA "/similarity/bert.safetensors") {
    config.task = task;
    config.pooling = pooling;
    config.texts_per_row = texts;
    load();
    model = std::make_unique<Model>(config, BatchLimits{.tokens = 128, .sequences = 12},
                                    *parameters, *kernels);
  }

  PackedBatch batch() const {
    PackedBatch batch = recorded_inputs(recorded);
    const auto texts = static_cast<int32_t>(config.texts_per_row);
    batch.sequences_per_example = texts;
    if (config.task == Task::kSimilarity) {
      batch.labels = PackedBatch::Scores{recorded_values<float>(recorded, "labels")};
    } else if (config.task == Task::kInBatchNegatives) {
      PackedBatch::Classes places(static_cast<size_t>(batch.num_examples()));
      std::iota(places.begin(), places.end(), 0);
      batch.labels = places;
    }
    return batch;
  }
  void forward(const PackedBatch& of, Phase phase) {
    state.begin({.seed = 3});
    model->forward(of, state, phase);
  }
  UpdateOutcome train() {
    kernels->zero(parameters->gradients());
    forward(batch(), Phase::kTraining);
    model->backward(state);
    return state.outcome();
  }
  std::vector<float> values(const std::string& name) const {
    return recorded_values<float>(recorded, name);
  }

  std::unique_ptr<Model> model;
};

TEST(Embeddings, AreThoseOfPyTorch) {
  for (const auto& [pooling, name] :
       {std::pair(Pooling::kMean, "embedding.mean"), std::pair(Pooling::kCls, "embedding.cls"),
        std::pair(Pooling::kMax, "embedding.max")}) {
    RecordedTexts texts(Task::kTextEmbedding, pooling, /*texts=*/1);
    EXPECT_TRUE(texts.report.missing.empty());
    EXPECT_TRUE(texts.report.ignored.empty());
    texts.forward(texts.batch(), Phase::kEvaluation);
    const std::vector<float> expected = texts.values(name);
    expect_near(texts.model->outputs(), expected, 1e-5 * largest(expected), name);
  }
}

TEST(Embeddings, AreTheLogitsOfTextsInNoGroup) {
  for (const Task task : {Task::kSimilarity, Task::kInBatchNegatives}) {
    for (const Pooling pooling : {Pooling::kMean, Pooling::kCls}) {
      RecordedTexts embeds(Task::kTextEmbedding, pooling, /*texts=*/1);
      embeds.forward(embeds.batch(), Phase::kEvaluation);
      RecordedTexts compares(task, pooling);
      PackedBatch batch = compares.batch();
      batch.sequences_per_example = 1;
      batch.labels = {};
      compares.forward(batch, Phase::kEvaluation);
      EXPECT_EQ(compares.model->outputs(), embeds.model->outputs());
      EXPECT_EQ(compares.state.outcome().examples, 0);
    }
  }
}

struct Case {
  std::string name;
  Task task;
  Pooling pooling;
  int64_t texts;
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class SimilarityLosses : public testing::TestWithParam<Case> {};

TEST_P(SimilarityLosses, LossAndGradientsAreThoseOfPyTorch) {
  const Case& test = GetParam();
  RecordedTexts texts(test.task, test.pooling, test.texts);
  const UpdateOutcome outcome = texts.train();
  EXPECT_EQ(outcome.examples, static_cast<double>(12 / test.texts));
  const float loss = texts.values(test.name + ".loss")[0];
  EXPECT_NEAR(outcome.loss_sum / outcome.examples, loss, 1e-5 * std::max(1.0f, loss));
  for (size_t p = 0; p < texts.parameters->specs().size(); ++p) {
    const std::string& name = texts.parameters->specs()[p].name;
    const std::vector<float> expected = texts.values(test.name + ".grad." + name);
    const Tensor tensor = texts.parameters->gradient(p);
    std::vector<float> ours(static_cast<size_t>(tensor.elements()));
    copy_out(tensor, ours.data());
    for (float& value : ours) value /= static_cast<float>(outcome.examples);
    // The bias of a key moves all scores of a softmax alike, so its gradient is rounding.
    const double scale = name.ends_with("key.bias") ? 0.1 : largest(expected);
    expect_near(ours, expected, 1e-4 * scale, name);
  }
}

TEST_P(SimilarityLosses, EvaluationTellsTheLossAndWhatWasFound) {
  const Case& test = GetParam();
  RecordedTexts texts(test.task, test.pooling, test.texts);
  texts.forward(texts.batch(), Phase::kEvaluation);
  const double loss = texts.values(test.name + ".loss")[0];
  EXPECT_NEAR(texts.state.loss_sum / texts.state.examples, loss, 1e-5 * std::max(1.0, loss));
  const std::vector<float> logits = texts.model->outputs();
  if (test.name == "cosine") expect_near(logits, texts.values("cosines"), 1e-5, "cosines");
  if (test.name != "triplets") return;
  const std::vector<float> found = texts.values("triplets.found");
  ASSERT_EQ(logits.size(), 2 * found.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(logits[2 * i + 1], found[i]) << i;
}

// The head alone: its loss is a function of the hidden states. Examples have different weights.
TEST_P(SimilarityLosses, GradientsAreSlopes) {
  const Case& test = GetParam();
  RecordedTexts texts(test.task, test.pooling, test.texts);
  constexpr int64_t kExamples = 3, kLength = 2;
  const int64_t sequences = kExamples * test.texts, tokens = kLength * sequences;
  Memory memory(1 << 20);
  Arena arena(memory);
  const std::unique_ptr<Head> head = make_head(texts.config, *texts.parameters, *texts.kernels);
  head->allocate(arena, {.tokens = tokens, .sequences = sequences});
  const auto fill = [&](std::initializer_list<int64_t> shape, uint32_t number) {
    const Tensor tensor = arena.make(DType::kF32, shape);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const uint32_t word = philox4x32({static_cast<uint32_t>(i), number, 0, 0}, {5, 6})[0];
      tensor.f32()[i] = static_cast<float>(word) * 0x1p-31f - 1;
    }
    return tensor;
  };
  const int64_t rows = test.pooling == Pooling::kCls ? sequences : tokens;
  const Tensor hidden = fill({rows, texts.config.hidden_size}, 0),
               dhidden = fill({rows, texts.config.hidden_size}, 1), targets = fill({kExamples}, 2),
               weights = fill({kExamples}, 3),
               cu_seqlens = arena.make(DType::kI32, {sequences + 1});
  for (int64_t i = 0; i < kExamples; ++i) weights.f32()[i] = 0.5f + static_cast<float>(i);
  for (int64_t i = 0; i <= sequences; ++i) {
    cu_seqlens.i32()[i] = static_cast<int32_t>(kLength * i);
  }
  const BatchTensors batch{.cu_seqlens = cu_seqlens,
                           .targets = targets,
                           .weights = weights,
                           .num_tokens = tokens,
                           .num_sequences = sequences,
                           .sequences_per_example = test.texts};
  const auto loss_of = [&](bool training) {
    texts.state.begin({});
    const StepContext step{.batch = batch, .state = texts.state, .training = training};
    head->forward(step, hidden);
    if (training) head->backward(step, dhidden);
    return texts.state.loss_sum;
  };
  loss_of(/*training=*/true);
  for (int64_t i = 0; i < hidden.elements(); ++i) {
    const float before = hidden.f32()[i];
    constexpr float kDistance = 1e-3f;
    hidden.f32()[i] = before + kDistance;
    const double above = loss_of(false), high = static_cast<double>(hidden.f32()[i]);
    hidden.f32()[i] = before - kDistance;
    const double below = loss_of(false), low = static_cast<double>(hidden.f32()[i]);
    hidden.f32()[i] = before;
    ASSERT_NEAR(dhidden.f32()[i], (above - below) / (high - low), 2e-3) << i;
  }
}

TEST_P(SimilarityLosses, ARowWithoutALabelHasOutputsAndNoLoss) {
  const Case& test = GetParam();
  RecordedTexts texts(test.task, test.pooling, test.texts);
  PackedBatch batch = texts.batch();
  texts.forward(batch, Phase::kEvaluation);
  const std::vector<float> labelled = texts.model->outputs();
  batch.labels = std::monostate();
  texts.forward(batch, Phase::kEvaluation);
  EXPECT_EQ(texts.state.examples, 0);
  EXPECT_EQ(texts.model->outputs(), labelled);
}

INSTANTIATE_TEST_SUITE_P(All, SimilarityLosses,
                         testing::Values(Case{"cosine", Task::kSimilarity, Pooling::kMean, 2},
                                         Case{"cls", Task::kSimilarity, Pooling::kCls, 2},
                                         Case{"max", Task::kSimilarity, Pooling::kMax, 2},
                                         Case{"pairs", Task::kInBatchNegatives, Pooling::kMean, 2},
                                         Case{"triplets", Task::kInBatchNegatives, Pooling::kMean,
                                              3}),
                         [](const testing::TestParamInfo<Case>& test) { return test.param.name; });

}  // namespace
}  // namespace berth
