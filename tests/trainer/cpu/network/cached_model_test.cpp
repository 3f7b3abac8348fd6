// Compares batches that are computed in parts with whole ones, and with values recorded from
// PyTorch (tests/record/record_similarity.py).

#include "trainer/cpu/network/cached_model.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>

#include "tests/support/expect_near.h"
#include "tests/trainer/cpu/network/recorded_network.h"

namespace berth {
namespace {

struct CachedCase {
  std::string name;
  Task task = Task::kInBatchNegatives;
  Pooling pooling = Pooling::kMean;
  int64_t texts = 2;
  SimilarityObjective objective{};
  LoraOptions lora{};
  std::vector<DenseModule> dense{};
};
void PrintTo(const CachedCase& test, std::ostream* out) { *out << test.name; }

// A model of the recorded parameters with its gradients, whose batches are whole or cut.
struct CutTexts : RecordedNetwork {
  CutTexts(const CachedCase& test, double dropout, BatchLimits limits)
      : RecordedNetwork(BERTH_TESTDATA "/similarity/bert.safetensors") {
    config.task = test.task;
    config.pooling = test.pooling;
    config.texts_per_row = test.texts;
    config.similarity = test.objective;
    config.dense_modules = test.dense;
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout;
    parameters = std::make_unique<Parameters>(parameter_table(config, test.lora), true, *kernels);
    initialize(*parameters, 0.3, /*seed=*/4);
    load_parameters(Selected(recorded, "param."), *parameters);
    network = make_network(config, limits, *parameters, *kernels, {}, test.lora);
  }

  PackedBatch batch() const {
    PackedBatch batch = recorded_inputs(recorded);
    batch.sequences_per_example = static_cast<int32_t>(config.texts_per_row);
    batch.first_token = 24;
    batch.first_sequence = 6;
    const auto examples = static_cast<size_t>(batch.num_examples());
    if (config.task == Task::kSimilarity) {
      batch.labels = PackedBatch::Scores{recorded_values<float>(recorded, "labels")};
      const bool has_weights = !config.similarity.loss || !compares_rows(*config.similarity.loss);
      for (size_t i = 0; i < examples && has_weights; ++i) {
        batch.weights.push_back(0.5f + static_cast<float>(i));
      }
    } else {
      PackedBatch::Classes places(examples);
      std::iota(places.begin(), places.end(), 0);
      batch.labels = places;
    }
    return batch;
  }
  std::vector<float> evaluate(const PackedBatch& of) {
    state.begin({.seed = 3});
    network->forward(of, state, Phase::kEvaluation);
    return network->outputs();
  }
  // The loss and the gradients of a batch, and the depths that were final, in their order.
  void train(const PackedBatch& of) {
    kernels->zero(parameters->gradients());
    state.begin({.seed = 3, .step = 2});
    network->forward(of, state, Phase::kTraining);
    depths.clear();
    network->backward(state, [this](int64_t depth) { depths.push_back(depth); });
    gradients.clear();
    for (size_t p = 0; p < parameters->specs().size(); ++p) {
      const Tensor tensor = parameters->gradient(p);
      if (!tensor) continue;
      std::vector<float>& values = gradients[parameters->specs()[p].name];
      values.resize(static_cast<size_t>(tensor.elements()));
      copy_out(tensor, values.data());
    }
  }

  std::unique_ptr<Network> network;
  std::map<std::string, std::vector<float>> gradients;
  std::vector<int64_t> depths;
};

constexpr BatchLimits kWholeBatch{.tokens = 128, .sequences = 12};

BatchLimits parts_of(int64_t sequences, int64_t tokens = 128, bool recomputes = false) {
  return {.tokens = 128,
          .sequences = 12,
          .recomputes = recomputes,
          .part_sequences = sequences,
          .part_tokens = tokens};
}

class CachedModels : public testing::TestWithParam<CachedCase> {
 protected:
  static void expect_equal(const CutTexts& cut, const CutTexts& whole) {
    EXPECT_NEAR(cut.state.loss_sum, whole.state.loss_sum,
                1e-5 * std::max(1.0, whole.state.loss_sum));
    EXPECT_EQ(cut.state.examples, whole.state.examples);
    EXPECT_EQ(cut.depths, whole.depths);
    ASSERT_EQ(cut.gradients.size(), whole.gradients.size());
    double most = 0;
    for (const auto& [name, values] : whole.gradients) most = std::max(most, largest(values));
    EXPECT_GT(most, 0.01);
    for (const auto& [name, values] : whole.gradients) {
      // The gradient of a key's bias is rounding alone.
      const double scale = name.ends_with("key.bias") ? 0.1 * most : largest(values);
      expect_near(cut.gradients.at(name), values, 1e-5 * std::max(scale, 0.01 * most), name);
    }
  }
};

TEST_P(CachedModels, LearnAsWholeBatchesDo) {
  CutTexts whole(GetParam(), /*dropout=*/0.3, kWholeBatch);
  whole.train(whole.batch());
  CutTexts other_masks(GetParam(), /*dropout=*/0.3, kWholeBatch);
  PackedBatch elsewhere = whole.batch();
  elsewhere.first_token += 8;
  other_masks.train(elsewhere);
  EXPECT_NE(other_masks.state.loss_sum, whole.state.loss_sum) << "the dropout is seen";
  // Texts of a row may lie in different parts, and a part may be cut by its tokens.
  for (const BatchLimits& limits : {parts_of(1, 13), parts_of(4), parts_of(5), parts_of(12, 20),
                                    parts_of(11), parts_of(4, 128, /*recomputes=*/true)}) {
    CutTexts cut(GetParam(), /*dropout=*/0.3, limits);
    for (int update = 0; update < 2; ++update) {
      cut.train(cut.batch());
      expect_equal(cut, whole);
    }
  }
}

TEST_P(CachedModels, EvaluateAsWholeBatchesDo) {
  CutTexts whole(GetParam(), /*dropout=*/0.3, kWholeBatch),
      cut(GetParam(), /*dropout=*/0.3, parts_of(5, 30));
  PackedBatch batch = whole.batch();
  expect_near(cut.evaluate(batch), whole.evaluate(batch), 1e-5, "outputs");
  EXPECT_NEAR(cut.state.loss_sum, whole.state.loss_sum, 1e-4);
  EXPECT_EQ(cut.state.examples, whole.state.examples);
  batch.labels = std::monostate();
  expect_near(cut.evaluate(batch), whole.evaluate(batch), 1e-5, "outputs without labels");
  EXPECT_EQ(cut.state.examples, 0);
  batch.sequences_per_example = 1;
  batch.weights.clear();
  expect_near(cut.evaluate(batch), whole.evaluate(batch), 1e-5, "embeddings");
}

std::vector<CachedCase> cached_cases() {
  using enum SimilarityLoss;
  return {
      {"pairs"},
      {"triplets", Task::kInBatchNegatives, Pooling::kMean, 3},
      {"cls", Task::kInBatchNegatives, Pooling::kCls, 2},
      {"max", Task::kInBatchNegatives, Pooling::kMax, 2},
      {"cosine", Task::kSimilarity, Pooling::kMean, 2},
      {"cosent", Task::kSimilarity, Pooling::kMean, 2, {.loss = kCosent}},
      {"symmetric", Task::kInBatchNegatives, Pooling::kMean, 3, {.loss = kSymmetric}},
      {"nested",
       Task::kInBatchNegatives,
       Pooling::kMean,
       2,
       {.nested = {{.size = 16}, {.size = 7, .weight = 0.5}}}},
      {"adapters", Task::kInBatchNegatives, Pooling::kMean, 2, {}, {.rank = 2, .dropout = 0.3}},
      {"dense",
       Task::kInBatchNegatives,
       Pooling::kMean,
       2,
       {.nested = {{.size = 6}, {.size = 3}}},
       {},
       {{.inputs = 16, .outputs = 6, .activation = Activation::kTanh}}},
  };
}

INSTANTIATE_TEST_SUITE_P(All, CachedModels, testing::ValuesIn(cached_cases()),
                         [](const testing::TestParamInfo<CachedCase>& test) {
                           return test.param.name;
                         });

// The losses of these names are MultipleNegativesRankingLoss, which
// CachedMultipleNegativesRankingLoss equals.
TEST(CachedModel, LossAndGradientsAreThoseOfPyTorch) {
  for (const auto& [name, texts] : {std::pair("pairs", 2), std::pair("triplets", 3)}) {
    CutTexts cut({.name = name, .texts = texts}, /*dropout=*/0, parts_of(4));
    cut.train(cut.batch());
    const auto recorded = [&](const std::string& tensor) {
      return recorded_values<float>(cut.recorded, name + ("." + tensor));
    };
    const double loss = double{recorded("loss")[0]};
    EXPECT_NEAR(cut.state.loss_sum / cut.state.examples, loss, 1e-5 * std::max(1.0, loss));
    for (auto& [parameter, values] : cut.gradients) {
      for (float& value : values) value /= static_cast<float>(cut.state.examples);
      const std::vector<float> expected = recorded("grad." + parameter);
      const double scale = parameter.ends_with("key.bias") ? 0.1 : largest(expected);
      expect_near(values, expected, 1e-4 * scale, parameter);
    }
  }
}

TEST(CachedModel, TakesTheMemoryOfAPart) {
  const ModelConfig config{.task = Task::kInBatchNegatives,
                           .vocab_size = 50,
                           .hidden_size = 32,
                           .num_hidden_layers = 4,
                           .num_attention_heads = 4,
                           .intermediate_size = 64,
                           .texts_per_row = 2};
  ThreadPool pool(1);
  const std::unique_ptr<Kernels> kernels = make_cpu_kernels(pool);
  const auto bytes = [&](int64_t sequences, int64_t part) {
    BatchLimits limits{.tokens = 32 * sequences, .sequences = sequences};
    if (part > 0) limits.part_sequences = part, limits.part_tokens = 32 * part;
    Parameters planned = Parameters::plan(parameter_table(config), true, *kernels);
    return planned_network_bytes(config, limits, planned, *kernels, {});
  };
  EXPECT_LT(bytes(512, 8), 2 * bytes(8, 0));
  EXPECT_GT(bytes(512, 0), 20 * bytes(512, 8));
}

}  // namespace
}  // namespace berth
