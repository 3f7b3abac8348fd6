// Compares every architecture with every head to values recorded from PyTorch and transformers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "storage/base/bytes.h"
#include "storage/base/json.h"
#include "storage/base/thread_pool.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "tests/support/largest.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "tests/trainer/cpu/values_of.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/model.h"
#include "trainer/cpu/optimizer.h"
#include "trainer/model/config.h"
#include "trainer/model/part_names.h"
#include "trainer/weights/pretrained.h"

namespace berth {
namespace {

constexpr double kLogitTolerance = 1e-4;     // relative to the largest value of the tensor
constexpr double kGradientTolerance = 1e-3;  // likewise
constexpr double kMaskedGradientTolerance = 1e-4;
constexpr double kLossTolerance = 1e-4;  // relative

// The folder of the recordings. scripts/test-peers.sh makes new ones with other random values and
// names their folder in the environment.
std::string recordings() {
  const char* const anew = std::getenv("BERTH_RECORDED_ARCHITECTURES");
  return anew != nullptr ? anew : BERTH_TESTDATA "/architectures";
}

class Architectures : public testing::TestWithParam<std::string> {
 protected:
  Architectures()
      : file_(map_file(recordings() + "/" + GetParam() + ".safetensors")),
        recorded_(*file_->view()),
        kernels_(make_cpu_kernels(pool_)) {
    config_ = parse_config(recorded_.metadata().at("config"));
    config_.task = recorded_task(GetParam());
    parameters_ = std::make_unique<Parameters>(parameter_table(config_), true, *kernels_);
    report_ = load_parameters(Selected(recorded_, "param."), *parameters_);
    model_ = std::make_unique<Model>(
        config_, BatchLimits{.tokens = 64, .sequences = 8, .masked = 0}, *parameters_, *kernels_);
    state_ = std::make_unique<StepState>();
    state_->begin({});
  }

  PackedBatch batch() const {
    PackedBatch packed = recorded_inputs(recorded_);
    packed.labels = recorded_labels(recorded_, config_.task);
    return packed;
  }

  // Masked language models compute their logits in tiles and tell the loss of each token: with id v
  // as every token's label, it is column v of -log_softmax(logits) [T,V].
  std::vector<float> loss_of_every_id() {
    PackedBatch packed = batch();
    auto& ids = std::get<PackedBatch::MaskedTokens>(packed.labels).ids;
    const auto columns = static_cast<size_t>(config_.vocab_size);
    std::vector<float> losses(ids.size() * columns);
    for (size_t id = 0; id < columns; ++id) {
      std::ranges::fill(ids, static_cast<int32_t>(id));
      model_->forward(packed, *state_, Phase::kEvaluation);
      const std::vector<float> told = model_->outputs();
      for (size_t t = 0; t < ids.size(); ++t) losses[t * columns + id] = told[2 * t];
    }
    return losses;
  }

  static std::vector<float> minus_log_softmax(std::vector<float> logits, int64_t columns) {
    for (auto row = logits.begin(); row != logits.end(); row += columns) {
      double sum = 0;
      for (auto at = row; at != row + columns; ++at) sum += std::exp(static_cast<double>(*at));
      for (auto at = row; at != row + columns; ++at) *at = static_cast<float>(std::log(sum)) - *at;
    }
    return logits;
  }

  // Whether the parameter adds the same to every score of a softmax. Its true gradient is then 0,
  // so its computed gradient is rounding. The key's bias does so to the scores of a query. In
  // question answering, so does every bias that adds the same to all tokens, and in multiple choice
  // every bias behind the head's activation.
  bool moves_all_alike(const std::string& name) const {
    for (const char* end : {"key.bias", "k_lin.bias", "attn.k.bias"}) {
      if (name.ends_with(end)) return true;
    }
    if (config_.task == Task::kMultipleChoice) {
      return name == "classifier.bias" || name == "head.norm.bias";
    }
    if (config_.task != Task::kQuestionAnswering) return false;
    const LayerNames last = layer_names(config_, config_.num_hidden_layers - 1);
    return name == token_head_name(config_) + ".bias" || name == "head.norm.bias" ||
           name == last.output_norm + ".bias";
  }

  std::unique_ptr<RandomAccessSource> file_;
  SafetensorsReader recorded_;
  ThreadPool pool_{2};
  std::unique_ptr<Kernels> kernels_;
  ModelConfig config_;
  LoadReport report_;
  std::unique_ptr<Parameters> parameters_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<StepState> state_;
};

TEST_P(Architectures, TakesEveryParameterOfTheFile) {
  EXPECT_TRUE(report_.missing.empty());
  // With an untied decoder, transformers 5 saves a second bias, which is not used.
  const bool has_own_decoder = GetParam().find("-untied-") != std::string::npos;
  const bool has_constant = config_.rotary_turns_neighbours;  // RoFormer's file has the sines
  EXPECT_LE(report_.ignored.size(), (has_own_decoder ? 1U : 0U) + (has_constant ? 1U : 0U));
}

TEST_P(Architectures, ComputesTorchsLogitsAndLoss) {
  auto expected = recorded_values<float>(recorded_, "logits");
  std::vector<float> logits;
  if (config_.task == Task::kMaskedLm) {
    expected = minus_log_softmax(expected, config_.vocab_size);
    logits = loss_of_every_id();
  }
  state_->begin({});
  model_->forward(batch(), *state_, Phase::kEvaluation);
  if (config_.task != Task::kMaskedLm) logits = model_->outputs();
  ASSERT_EQ(logits.size(), expected.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    ASSERT_NEAR(logits[i], expected[i], kLogitTolerance * largest(expected)) << i;
  }
  const UpdateOutcome outcome = state_->outcome();
  const float loss = recorded_values<float>(recorded_, "loss")[0];
  EXPECT_NEAR(outcome.loss_sum / outcome.examples, loss, kLogitTolerance * loss);
}

TEST_P(Architectures, ComputesTorchsGradients) {
  model_->forward(batch(), *state_, Phase::kTraining);
  model_->backward(*state_);
  const double examples = state_->outcome().examples;
  const double tolerance =
      config_.task == Task::kMaskedLm ? kMaskedGradientTolerance : kGradientTolerance;
  std::vector<float> gradients(static_cast<size_t>(parameters_->size()));
  copy_out(parameters_->gradients(), gradients.data());
  for (size_t p = 0; p < parameters_->specs().size(); ++p) {
    const std::string& name = parameters_->specs()[p].name;
    const auto expected = recorded_values<float>(recorded_, "grad." + name);
    const float* const ours = gradients.data() + parameters_->offset(p);
    const double scale = std::max(largest(expected), moves_all_alike(name) ? 1.0 : 0.0);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(ours[i] / examples, expected[i], tolerance * scale) << name << "[" << i << "]";
    }
  }
}

// Ranks exchange the gradients of a layer while those of the layers below are still computed.
TEST_P(Architectures, DoNotChangeGradientsThatAreFinal) {
  struct Told {
    int64_t depth;
    std::vector<float> gradients;
  };
  const auto gradients = [&] {
    std::vector<float> values(static_cast<size_t>(parameters_->size()));
    copy_out(parameters_->gradients(), values.data());
    return values;
  };
  std::vector<Told> told;
  model_->forward(batch(), *state_, Phase::kTraining);
  model_->backward(*state_, [&](int64_t depth) { told.push_back({depth, gradients()}); });
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told.front().depth, parameters_->specs().back().depth);
  const std::vector<float> last = gradients();
  for (const auto& [depth, then] : told) {
    for (size_t p = 0; p < parameters_->specs().size(); ++p) {
      const ParameterSpec& spec = parameters_->specs()[p];
      if (spec.depth < depth) continue;
      const auto begin = static_cast<size_t>(parameters_->offset(p));
      const auto size = static_cast<size_t>(spec.elements());
      EXPECT_TRUE(std::ranges::equal(std::span(then).subspan(begin, size),
                                     std::span(last).subspan(begin, size)))
          << spec.name << " changes after depth " << depth;
    }
  }
}

// The cases with recorded losses.
class LearningArchitectures : public Architectures {};

TEST_P(LearningArchitectures, LearnAsTorchsDo) {
  Optimizer optimizer({.weight_decay = 0, .max_grad_norm = 1e9}, *parameters_, *kernels_);
  uint64_t step = 0;
  for (const float expected : recorded_values<float>(recorded_, "losses")) {
    state_->begin({.step = step++, .learning_rate = 0.01f});
    model_->forward(batch(), *state_, Phase::kTraining);
    model_->backward(*state_);
    optimizer.step(*state_);
    parameters_->refresh();
    const UpdateOutcome outcome = state_->outcome();
    EXPECT_NEAR(outcome.loss_sum / outcome.examples, expected, kLossTolerance * expected) << step;
  }
  EXPECT_EQ(step, 10u);
}

TEST_P(Architectures, WritesEveryTensorBackBitForBit) {
  MemorySink sink;
  save_parameters(*parameters_, DType::kF32, sink);
  const SafetensorsReader written(sink.written);
  const Selected original(recorded_, "param.");
  // What the model does not use is not written: the bias of a tied decoder beside one of its own.
  EXPECT_EQ(written.tensors().size() + report_.ignored.size(), original.tensors().size());
  for (const NamedTensor& tensor : original.tensors()) {
    if (std::ranges::find(report_.ignored, tensor.name) != report_.ignored.end()) continue;
    const NamedTensor* const again = written.find(tensor.name);
    ASSERT_NE(again, nullptr) << tensor.name;
    EXPECT_EQ(again->shape, tensor.shape) << tensor.name;
    EXPECT_TRUE(std::ranges::equal(again->data, tensor.data)) << tensor.name;
  }
}

TEST_P(Architectures, WritesItsConfigurationBack) {
  const auto before = parse_json(recorded_.metadata().at("config"));
  const auto after = parse_json(to_config_json(config_));
  for (const auto& [key, value] : before.items()) {
    // transformers derives or adds these keys itself.
    if (key == "transformers_version" || key == "_name_or_path" || key == "torch_dtype" ||
        key == "architectures" || key == "finetuning_task") {
      continue;
    }
    if ((key == "problem_type" || key == "dtype") && value.is_null()) continue;
    EXPECT_EQ(after.value(key, Json()), value) << key;
  }
}

TEST_P(Architectures, RefusesIdsOutsideItsTables) {
  PackedBatch wrong = batch();
  wrong.input_ids[2] = static_cast<int32_t>(config_.vocab_size);
  EXPECT_THROW(model_->forward(wrong, *state_, Phase::kEvaluation), Error);
  if (config_.type_vocab_size == 0) return;
  wrong = batch();
  wrong.token_type_ids[2] = static_cast<int32_t>(config_.type_vocab_size);
  EXPECT_THROW(model_->forward(wrong, *state_, Phase::kEvaluation), Error);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Architectures, testing::ValuesIn(kRecordedCases), test_name);
INSTANTIATE_TEST_SUITE_P(Recorded, LearningArchitectures, testing::ValuesIn(kRecordedLosses),
                         test_name);

}  // namespace
}  // namespace berth
