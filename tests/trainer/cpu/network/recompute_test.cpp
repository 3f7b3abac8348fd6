// Recomputation in backward gives the same gradients to the bit and takes less memory.

#include <gtest/gtest.h>

#include <numeric>

#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "tests/trainer/cpu/values_of.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/model.h"

namespace berth {
namespace {

struct Learnt {
  std::vector<float> logits, gradients;
  double loss;
  bool operator==(const Learnt&) const = default;
};

// The recorded model of an architecture, with four layers and with dropout.
class Recompute : public testing::TestWithParam<std::string> {
 protected:
  Recompute() {
    const auto file =
        map_file(std::string(BERTH_TESTDATA "/architectures/") + GetParam() + ".safetensors");
    const SafetensorsReader recorded(*file->view());
    config_ = parse_config(recorded.metadata().at("config"));
    config_.task = Task::kSequenceClassification;
    config_.labels = {"a", "b", "c"};
    config_.num_hidden_layers = 4;
    config_.hidden_dropout_prob = config_.attention_probs_dropout_prob = 0.2;
    config_.local_layers.resize(4);  // those beyond what was recorded are global
    config_.mlp_dropout = config_.normalizes_first ? 0.2 : 0;
    batch_ = recorded_inputs(recorded);
    PackedBatch::Classes classes(static_cast<size_t>(batch_.num_sequences()));
    for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<int32_t>(i % 3);
    batch_.labels = classes;
  }

  // Allows more sequences than tokens, so that a head may pick more rows than there are tokens.
  BatchLimits limits(bool recomputes) const {
    return {.tokens = batch_.num_tokens() + 3,
            .sequences = 3 * batch_.num_tokens(),
            .recomputes = recomputes};
  }

  // The gradients of an update of two micro-batches, which differ in their place in the update.
  Learnt learn(bool recomputes) {
    Parameters parameters(parameter_table(config_, lora_), /*with_gradients=*/true, *kernels_);
    std::vector<size_t> all(parameters.specs().size());
    std::iota(all.begin(), all.end(), size_t{0});
    initialize(parameters, all, /*initializer_range=*/0.2, /*seed=*/3);
    Model model(config_, limits(recomputes), parameters, *kernels_, {}, lora_);
    const auto state = std::make_unique<StepState>();
    state->begin({.seed = 5, .step = 2});
    for (const uint64_t first : {0, 100}) {
      batch_.first_token = batch_.first_sequence = first;
      model.forward(batch_, *state, Phase::kTraining);
      model.backward(*state);
    }
    Learnt learnt{.logits = model.outputs(),
                  .gradients = std::vector<float>(static_cast<size_t>(parameters.size())),
                  .loss = state->outcome().loss_sum};
    copy_out(parameters.gradients(), learnt.gradients.data());
    return learnt;
  }

  ModelConfig config_;
  LoraOptions lora_{};
  PackedBatch batch_;
  ThreadPool pool_{2};
  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels(pool_);
};

TEST_P(Recompute, ChangesNoGradient) {
  const Learnt kept = learn(/*recomputes=*/false);
  EXPECT_GT(kept.loss, 0);
  EXPECT_TRUE(learn(/*recomputes=*/true) == kept);
  config_.hidden_dropout_prob = 0;
  EXPECT_FALSE(learn(/*recomputes=*/true) == kept) << "the comparison sees dropout";
}

// LoRA does not support models with a convolution, so this suite leaves them out.
class RecomputeAdapted : public Recompute {};

TEST_P(RecomputeAdapted, ChangesNoGradient) {
  lora_ = {.rank = 2, .alpha = 4, .dropout = 0.3};
  EXPECT_TRUE(learn(/*recomputes=*/true) == learn(/*recomputes=*/false));
}

TEST_P(Recompute, TakesAboutOneLayersActivations) {
  const auto planned_bytes = [this](bool recomputes) {
    Parameters planned =
        Parameters::plan(parameter_table(config_), /*with_gradients=*/false, *kernels_);
    return Model::planned_bytes(config_, limits(recomputes), planned, *kernels_);
  };
  const size_t kept = planned_bytes(false), again = planned_bytes(true);
  EXPECT_LT(again, kept * 3 / 4);
  config_.num_hidden_layers *= 2;
  const size_t more = planned_bytes(true) - again;
  const auto output_bytes = static_cast<size_t>(limits(true).tokens * config_.hidden_size) * 4;
  const double outputs = config_.normalizes_first ? 8 : 4;  // and the sums before normalization
  EXPECT_NEAR(static_cast<double>(more), outputs * static_cast<double>(output_bytes),
              outputs * 64.0);
}

std::string model_name(const testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Of, Recompute,
                         testing::Values("bert-sequence", "albert-sequence", "distilbert-sequence",
                                         "deberta-v2-sequence", "deberta-v2-convolved-sequence",
                                         "modernbert-sequence", "modernbert-biased-sequence",
                                         "mpnet-sequence", "nomic-sequence", "roformer-sequence",
                                         "megatron-bert-sequence", "roberta-prelayernorm-sequence"),
                         model_name);
INSTANTIATE_TEST_SUITE_P(Of, RecomputeAdapted,
                         testing::Values("bert-sequence", "albert-sequence", "distilbert-sequence",
                                         "deberta-v2-sequence", "modernbert-sequence",
                                         "megatron-bert-sequence"),
                         model_name);

}  // namespace
}  // namespace berth
