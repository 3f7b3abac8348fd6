// Compares LoRA's adapters to values recorded from Hugging Face's PEFT.

#include "trainer/model/lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "storage/base/bytes.h"
#include "storage/base/thread_pool.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "tests/support/adapter_options.h"
#include "tests/support/largest.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "tests/trainer/cpu/values_of.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/model.h"
#include "trainer/cpu/optimizer.h"
#include "trainer/weights/adapters.h"
#include "trainer/weights/pretrained.h"

namespace berth {
namespace {

using testing::Each;
using testing::FloatNear;
using testing::IsEmpty;
using testing::Pointwise;

class Lora : public testing::TestWithParam<std::string> {
 protected:
  static constexpr BatchLimits kLimits{.tokens = 64, .sequences = 8, .masked = 0};

  Lora()
      : file_(map_file(BERTH_TESTDATA "/lora/" + GetParam() + ".safetensors")),
        recorded_(*file_->view()),
        kernels_(make_cpu_kernels(pool_)) {
    config_ = parse_config(recorded_.metadata().at("config"));
    if (GetParam().find("-token") != std::string::npos) config_.task = Task::kTokenClassification;
    lora_ = adapter_options(recorded_.metadata().at("adapter_config"));
    adapted_ = std::make_unique<Parameters>(parameter_table(config_, lora_), true, *kernels_);
    base_report_ = load_parameters(Selected(recorded_, "param."), *adapted_);
    load_adapter(Selected(recorded_, "adapter."), *adapted_);
    state_ = std::make_unique<StepState>();
  }

  PackedBatch batch() const {
    PackedBatch packed = recorded_inputs(recorded_);
    const auto labels = recorded_values<int32_t>(recorded_, "labels");
    if (config_.task == Task::kTokenClassification) {
      packed.labels = PackedBatch::TokenClasses{labels};
    } else {
      packed.labels = labels;
    }
    return packed;
  }

  Model model() { return Model(config_, kLimits, *adapted_, *kernels_, {}, lora_); }
  std::vector<float> logits(Model&& model, Phase phase = Phase::kEvaluation) {
    state_->begin({.seed = 3});
    model.forward(batch(), *state_, phase);
    return model.outputs();
  }
  double loss(Phase phase) {
    logits(model(), phase);
    const UpdateOutcome outcome = state_->outcome();
    return outcome.loss_sum / outcome.examples;
  }
  void compute_gradients() {
    Model trained = model();
    kernels_->zero(adapted_->gradients());
    state_->begin({.seed = 3, .learning_rate = 1e-2f});
    trained.forward(batch(), *state_, Phase::kTraining);
    trained.backward(*state_);
  }
  std::vector<float> read(Tensor tensor) {
    std::vector<float> host(static_cast<size_t>(tensor.elements()));
    copy_out(tensor, host.data());
    return host;
  }

  std::unique_ptr<RandomAccessSource> file_;
  SafetensorsReader recorded_;
  ThreadPool pool_{2};
  std::unique_ptr<Kernels> kernels_;
  ModelConfig config_;
  LoraOptions lora_;
  LoadReport base_report_;
  std::unique_ptr<Parameters> adapted_;
  std::unique_ptr<StepState> state_;
};

TEST_P(Lora, AModelFileLacksOnlyTheAdapters) {
  EXPECT_THAT(base_report_.ignored, IsEmpty());
  size_t adapters = 0;
  for (const ParameterSpec& spec : adapted_->specs()) adapters += spec.is_adapter;
  EXPECT_EQ(base_report_.missing.size(), adapters);
  for (const size_t index : base_report_.missing) {
    EXPECT_TRUE(adapted_->specs()[index].is_adapter) << adapted_->specs()[index].name;
  }
}

TEST_P(Lora, ComputesPeftsLogitsAndLoss) {
  const auto expected = recorded_values<float>(recorded_, "logits");
  EXPECT_THAT(logits(model()),
              Pointwise(FloatNear(1e-4f * static_cast<float>(largest(expected))), expected));
  const float expected_loss = recorded_values<float>(recorded_, "loss")[0];
  EXPECT_NEAR(loss(Phase::kEvaluation), expected_loss, 1e-4 * expected_loss);
}

TEST_P(Lora, ComputesPeftsGradientsAndNoOthers) {
  compute_gradients();
  const double examples = state_->outcome().examples;
  for (size_t p = 0; p < adapted_->specs().size(); ++p) {
    const ParameterSpec& spec = adapted_->specs()[p];
    EXPECT_EQ(spec.trains, spec.is_adapter || spec.is_head) << spec.name;
    if (!spec.trains) {
      EXPECT_FALSE(adapted_->gradient(p)) << spec.name;
      continue;
    }
    const std::vector<float> ours = read(adapted_->gradient(p));
    const auto expected = recorded_values<float>(recorded_, "grad.base_model.model." + spec.name);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(ours[i] / examples, expected[i], 1e-3 * largest(expected)) << spec.name;
    }
  }
}

TEST_P(Lora, StartsWithTheLogitsOfTheModel) {
  Parameters base(parameter_table(config_), false, *kernels_);
  load_parameters(Selected(recorded_, "param."), base);
  Parameters fresh(parameter_table(config_, lora_), false, *kernels_);
  const LoadReport report = load_parameters(Selected(recorded_, "param."), fresh);
  initialize(fresh, report.missing, 0.02, /*seed=*/1);
  // Without adapters, the last layer computes the queries of fewer tokens. A BLAS may add up the
  // terms of a smaller product in another order.
  const std::vector<float> expected = logits(Model(config_, kLimits, base, *kernels_));
  EXPECT_THAT(logits(Model(config_, kLimits, fresh, *kernels_, {}, lora_)),
              Pointwise(FloatNear(1e-6f * static_cast<float>(largest(expected))), expected));
}

TEST_P(Lora, MergingKeepsTheLogits) {
  Parameters merged(parameter_table(config_), false, *kernels_);
  merge_adapters(lora_, *adapted_, merged);
  const std::vector<float> expected = logits(model());
  EXPECT_THAT(logits(Model(config_, kLimits, merged, *kernels_)),
              Pointwise(FloatNear(1e-5f * static_cast<float>(largest(expected))), expected));
}

TEST_P(Lora, WritesPeftsFiles) {
  MemorySink sink;
  save_adapter(*adapted_, DType::kF32, sink);
  const SafetensorsReader written(sink.written);
  const Selected peft(recorded_, "adapter.");
  EXPECT_EQ(written.tensors().size(), peft.tensors().size());
  for (const NamedTensor& tensor : peft.tensors()) {
    const NamedTensor* const ours = written.find(tensor.name);
    ASSERT_NE(ours, nullptr) << tensor.name;
    EXPECT_TRUE(std::ranges::equal(ours->data, tensor.data)) << tensor.name;
  }
  const LoraOptions again = adapter_options(to_adapter_config_json(config_, lora_, "base"));
  EXPECT_EQ(again.rank, 3);
  EXPECT_EQ(again.alpha, 5);
}

// Takes central differences of the loss, whose error is that of the step squared: at most 0.5 % of
// ModernBERT's largest gradients. Dropout drops the same elements in every forward.
TEST_P(Lora, GradientsWithDropoutAgreeWithFiniteDifferences) {
  lora_.dropout = 0.4;
  compute_gradients();
  const double examples = state_->outcome().examples;
  for (size_t p = 0; p < adapted_->specs().size(); ++p) {
    if (!adapted_->specs()[p].is_adapter) continue;
    const std::vector<float> values = read(adapted_->value(p));
    const std::vector<float> ours = read(adapted_->gradient(p));
    const auto i = static_cast<size_t>(
        std::max_element(ours.begin(), ours.end(),
                         [](float a, float b) { return std::abs(a) < std::abs(b); }) -
        ours.begin());
    constexpr float kStep = 5e-3f;
    double losses[2];
    for (const int side : {0, 1}) {
      std::vector<float> moved = values;
      moved[i] += side == 0 ? -kStep : kStep;
      copy_in(adapted_->value(p), moved.data());
      losses[side] = loss(Phase::kTraining);
    }
    copy_in(adapted_->value(p), values.data());
    const double numeric = (losses[1] - losses[0]) / (2 * static_cast<double>(kStep));
    EXPECT_NEAR(ours[i] / examples, numeric, 1e-2 * std::abs(numeric) + 2e-4)
        << adapted_->specs()[p].name;
  }
}

TEST_P(Lora, DropsOnlyInTraining) {
  const std::vector<float> plain = logits(model());
  lora_.dropout = 0.4;
  EXPECT_EQ(logits(model()), plain);
  EXPECT_NE(logits(model(), Phase::kTraining), plain);
}

TEST_P(Lora, AnUpdateChangesOnlyAdaptersAndHead) {
  Optimizer optimizer({}, *adapted_, *kernels_);
  compute_gradients();
  const std::vector<float> before = read(adapted_->values());
  optimizer.step(*state_);
  const std::vector<float> after = read(adapted_->values());
  for (size_t p = 0; p < adapted_->specs().size(); ++p) {
    const ParameterSpec& spec = adapted_->specs()[p];
    const auto begin = before.begin() + adapted_->offset(p);
    const bool same =
        std::equal(begin, begin + spec.elements(), after.begin() + adapted_->offset(p));
    EXPECT_EQ(same, !spec.trains) << spec.name;
  }
}

ModelConfig config_of(ModelType type) {
  ModelConfig config;
  config.type = type;
  config.hidden_size = 8;
  config.intermediate_size = 16;
  config.num_hidden_layers = 2;
  return config;
}

std::vector<LayerPart> parts(ModelType type, const std::string& targets) {
  std::vector<LayerPart> parts;
  for (const LoraTarget& each :
       lora_targets(config_of(type), {.rank = 1, .target_modules = targets}, 1)) {
    parts.push_back(each.part);
  }
  return parts;
}

TEST(LoraTargets, AreNamedByTheEndOfTheirNames) {
  using testing::ElementsAre;
  using enum LayerPart;
  constexpr ModelType kBert = ModelType::kBert;
  EXPECT_THAT(parts(kBert, ""), ElementsAre(kQuery, kValue));
  EXPECT_THAT(parts(ModelType::kDistilBert, ""), ElementsAre(kQuery, kValue));
  EXPECT_THAT(parts(kBert, "value,key"), ElementsAre(kKey, kValue));
  EXPECT_THAT(parts(kBert, "dense"), ElementsAre(kAttentionOutput, kIntermediate, kOutput));
  EXPECT_THAT(parts(kBert, "output.dense"), ElementsAre(kAttentionOutput, kOutput));
  EXPECT_THAT(parts(kBert, "attention.output.dense"), ElementsAre(kAttentionOutput));
  EXPECT_THAT(parts(ModelType::kDistilBert, "ffn.lin2, q_lin"), ElementsAre(kQuery, kOutput));
  EXPECT_THAT(parts(ModelType::kDebertaV2, "all-linear"), testing::SizeIs(6));
}

TEST(LoraTargets, OfUnknownNamesAreRefused) {
  EXPECT_THAT([] { parts(ModelType::kBert, "query,pooler"); },
              ThrowsCode(Code::kUsage, R"(--lora-target-modules: "pooler" is not a dense layer)"));
  EXPECT_THAT([] { parts(ModelType::kDistilBert, "query"); },
              ThrowsCode(Code::kUsage, "there are attention.q_lin, attention.k_lin"));
  EXPECT_THAT([] { parts(ModelType::kBert, "uery"); }, ThrowsCode(Code::kUsage, "uery"));
  EXPECT_THAT([] { parts(ModelType::kBert, ", "); }, ThrowsCode(Code::kUsage, "names nothing"));
}

TEST(LoraTargets, HaveTheirLayersSizes) {
  const auto targets =
      lora_targets(config_of(ModelType::kBert), {.rank = 1, .target_modules = "all-linear"}, 0);
  EXPECT_EQ(targets[3].inputs, 8);
  EXPECT_EQ(targets[4].outputs, 16);
  EXPECT_EQ(targets[5].inputs, 16);
  EXPECT_EQ(targets[5].outputs, 8);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Lora,
                         testing::Values("bert-sequence", "bert-token", "roberta-sequence",
                                         "distilbert-sequence", "albert-sequence",
                                         "deberta-v2-sequence", "bert-sequence-all",
                                         "bert-token-dense", "distilbert-sequence-all",
                                         "albert-sequence-all", "deberta-v2-sequence-all",
                                         "modernbert-sequence", "modernbert-sequence-all",
                                         "mpnet-sequence-all", "nomic-sequence-all",
                                         "megatron-bert-sequence", "megatron-bert-sequence-all"),
                         test_name);

}  // namespace
}  // namespace berth
