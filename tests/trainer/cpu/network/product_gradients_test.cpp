// Whole and factored gradients of matrices in the whole model. Updates from them must equal updates
// from summed gradients.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "storage/base/error.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "tests/trainer/cpu/values_of.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/model.h"
#include "trainer/cpu/optimizer.h"

namespace berth {
namespace {

// How many matrices of a model's layer have whole or factored gradients.
struct Expected {
  std::string model;
  int64_t matrices;  // of four: queries, keys and values are one matrix
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.model; }

// The most tokens of an update, as the parameters are told. The number decides whether gradients
// are summed, factored or whole.
constexpr int64_t kSummed = 0, kFactored = 40, kWhole = 1000;

struct Trained {
  std::vector<float> values, first_moments, second_moments;
  std::vector<double> norms;
  int64_t products = 0;
};

class ProductGradients : public testing::TestWithParam<Expected> {
 protected:
  ProductGradients() {
    const auto file =
        map_file(BERTH_TESTDATA "/architectures/" + GetParam().model + "-sequence.safetensors");
    const SafetensorsReader recorded(*file->view());
    config_ = parse_config(recorded.metadata().at("config"));
    config_.task = Task::kSequenceClassification;
    config_.labels = {"a", "b", "c"};
    config_.num_hidden_layers = 3;
    config_.hidden_size = 384;  // so wide that factors are cheaper than their product
    config_.intermediate_size = 512;
    config_.hidden_dropout_prob = config_.attention_probs_dropout_prob = 0.1;
    // The keys' biases have gradients that are only rounding. With a small epsilon, AdamW would
    // take a step of the whole rate for them.
    options_.adamw.epsilon = 1e-4f;
    batch_ = recorded_inputs(recorded);
    label_batch();
  }

  Parameters make_parameters(int64_t update_tokens) {
    Parameters parameters(parameter_table(config_, lora_, first_depth_), /*with_gradients=*/true,
                          *kernels_, {.update_tokens = update_tokens});
    std::vector<size_t> all(parameters.specs().size());
    std::iota(all.begin(), all.end(), size_t{0});
    initialize(parameters, all, /*initializer_range=*/0.05, /*seed=*/3);
    return parameters;
  }
  Model make_model(Parameters& parameters) {
    return Model(config_,
                 {.tokens = std::max<int64_t>(40, batch_.num_tokens()),
                  .sequences = batch_.num_sequences(),
                  .recomputes = recomputes_},
                 parameters, *kernels_);
  }
  void label_batch() {
    PackedBatch::Classes classes(static_cast<size_t>(batch_.num_sequences()));
    for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<int32_t>(i % 3);
    batch_.labels = classes;
  }
  // Makes a batch that has all sequences `times` times.
  void repeat_batch(int times) {
    const PackedBatch once = batch_;
    const auto append = [](std::vector<int32_t>& to, const std::vector<int32_t>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (int i = 1; i < times; ++i) {
      const int32_t before = batch_.cu_seqlens.back();
      append(batch_.input_ids, once.input_ids);
      append(batch_.token_type_ids, once.token_type_ids);
      append(batch_.position_ids, once.position_ids);
      for (size_t b = 1; b < once.cu_seqlens.size(); ++b) {
        batch_.cu_seqlens.push_back(before + once.cu_seqlens[b]);
      }
    }
    label_batch();
  }
  void forward_and_backward(Model& model, StepState& state, uint64_t step) {
    state.begin({.seed = 5, .step = step, .learning_rate = 1e-2f});
    model.forward(batch_, state, Phase::kTraining);
    model.backward(state);
  }

  Trained train(int64_t update_tokens) {
    Parameters parameters = make_parameters(update_tokens);
    Model model = make_model(parameters);
    Optimizer optimizer(options_, parameters, *kernels_);
    const auto state = std::make_unique<StepState>();
    Trained trained;
    for (uint64_t step = 0; step < updates_; ++step) {
      forward_and_backward(model, *state, step);
      optimizer.step(*state);
      parameters.refresh();
      trained.norms.push_back(state->outcome().grad_norm);
    }
    trained.values = read(parameters.values());
    trained.first_moments = read(parameters.first_moments());
    trained.second_moments = read(parameters.second_moments());
    trained.products = std::ranges::count_if(parameters.handles(), &Parameter::keeps_product);
    return trained;
  }

  std::vector<float> read(Tensor x) {
    std::vector<float> host(static_cast<size_t>(x.elements()));
    copy_out(x, host.data());
    return host;
  }

  // To 5e-4 of an update of the whole rate: Adam divides rounding errors by gradients that may be
  // tiny, and each CPU's kernels round otherwise.
  static void expect_near(const std::vector<float>& actual, const std::vector<float>& expected,
                          const char* what) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      if (!(std::abs(actual[i] - expected[i]) <= 5e-6f)) {  // a macro for each number takes seconds
        FAIL() << what << " " << i << ": " << actual[i] << " and not " << expected[i];
      }
    }
  }
  void expect_the_same() {
    const Trained summed = train(kSummed);
    const Trained factored = train(kFactored);
    EXPECT_EQ(summed.products, 0);
    for (size_t i = 0; i < summed.norms.size(); ++i) {
      EXPECT_NEAR(factored.norms[i] / summed.norms[i], 1, 1e-4);
    }
    expect_near(factored.values, summed.values, "value");
    expect_near(factored.first_moments, summed.first_moments, "first moment");
    expect_near(factored.second_moments, summed.second_moments, "second moment");
  }
  void use_bf16() { kernels_ = make_cpu_kernels(pool_, "baseline", Precision::kBf16); }

  ModelConfig config_;
  const LoraOptions lora_{};
  int64_t first_depth_ = 0;
  OptimizerOptions options_{};
  PackedBatch batch_;
  bool recomputes_ = false;
  uint64_t updates_ = 4;
  ThreadPool pool_{2};
  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels(pool_);
};

TEST_P(ProductGradients, TrainAsSummedOnes) { expect_the_same(); }

TEST_P(ProductGradients, TrainAsSummedOnesInBf16) {
  use_bf16();
  updates_ = 1;  // a second forward may round the weights differently
  expect_the_same();
}

// Gradients are rounded once, to the nearest bf16. After one update, the moments depend only on its
// gradient.
TEST_P(ProductGradients, AreRoundedOnce) {
  use_bf16();
  updates_ = 1;
  const Trained summed = train(kSummed), rounded = train(kWhole);
  EXPECT_GT(rounded.products, 0);
  EXPECT_NEAR(rounded.norms[0] / summed.norms[0], 1, 1e-4);
  int64_t others = 0;
  for (size_t i = 0; i < summed.first_moments.size(); ++i) {
    const float one = summed.first_moments[i], other = rounded.first_moments[i];
    if (!(std::abs(other - one) <= 0x1.1p-8f * std::abs(one) + 1e-9f)) {
      FAIL() << "moment " << i << ": " << other << " and not " << one;
    }
    if (!(std::abs(rounded.values[i] - summed.values[i]) <= 2e-4f)) {
      FAIL() << "value " << i << ": " << rounded.values[i] << " and not " << summed.values[i];
    }
    if (other != one) ++others;
  }
  EXPECT_GT(others, 0);
}

TEST_P(ProductGradients, FrozenMatricesAddNothingToTheNorm) {
  use_bf16();
  updates_ = 1;
  first_depth_ = 2;
  const Trained summed = train(kSummed), rounded = train(kWhole);
  EXPECT_NEAR(rounded.norms[0] / summed.norms[0], 1, 1e-4);
}

TEST_P(ProductGradients, InFp32EqualSummedOnes) {
  options_.max_grad_norm = 0;  // clipping would depend on the norm's order of addition
  const Trained summed = train(kSummed), whole = train(kWhole);
  EXPECT_GT(whole.products, 0);
  EXPECT_EQ(whole.values, summed.values);
  EXPECT_EQ(whole.second_moments, summed.second_moments);
}

// If the activations of a batch take more memory than the gradients, most gradients are placed
// where activations were.
TEST_P(ProductGradients, ReuseTheMemoryOfActivations) {
  repeat_batch(20);
  if (GetParam().matrices > 0) {
    Parameters summed = make_parameters(kSummed), whole = make_parameters(kWhole);
    EXPECT_LT(make_model(whole).activation_bytes(),
              make_model(summed).activation_bytes() + whole.kept_bytes() / 2);
  }
  options_.max_grad_norm = 0;
  updates_ = 2;
  EXPECT_EQ(train(kWhole).values, train(kSummed).values);
}

TEST_P(ProductGradients, AreTheSameWithRecomputation) {
  use_bf16();
  updates_ = 1;
  for (const int64_t update_tokens : {kFactored, kWhole}) {
    recomputes_ = true;
    const Trained again = train(update_tokens);
    recomputes_ = false;
    EXPECT_EQ(again.values, train(update_tokens).values);
  }
}

TEST_P(ProductGradients, TrainAsSummedOnesAboveFrozenLayers) {
  first_depth_ = 2;
  expect_the_same();
}

// The gradients of the layers' matrices and of the head's dense layer are each one product.
TEST_P(ProductGradients, CoverTheMatricesOfOneProduct) {
  for (const int64_t update_tokens : {kFactored, kWhole}) {
    const Parameters parameters =
        Parameters::plan(parameter_table(config_), /*with_gradients=*/true, *kernels_,
                         {.update_tokens = update_tokens});
    const GradientForm form =
        update_tokens == kFactored ? GradientForm::kFactored : GradientForm::kWhole;
    int64_t in_layers = 0;
    for (size_t i = 0; i < parameters.specs().size(); ++i) {
      const ParameterSpec& spec = parameters.specs()[i];
      if (parameters.gradient_form(i) == GradientForm::kSummed) continue;
      EXPECT_EQ(parameters.gradient_form(i), form) << spec.name;
      EXPECT_EQ(spec.shape.size(), 2u) << spec.name;
      EXPECT_FALSE(spec.is_looked_up) << spec.name;
      if (spec.depth == 1) in_layers += spec.elements();
    }
    const int64_t hidden = config_.hidden_size, wide = config_.intermediate_size;
    const int64_t matrices[] = {hidden * wide, hidden * wide, hidden * hidden, 3 * hidden * hidden};
    EXPECT_EQ(in_layers, std::accumulate(matrices, matrices + GetParam().matrices, int64_t{0}));
  }
}

TEST_P(ProductGradients, RefuseASecondBackwardInAnUpdate) {
  if (GetParam().matrices == 0) return;
  use_bf16();
  for (const int64_t update_tokens : {kFactored, kWhole}) {
    Parameters parameters = make_parameters(update_tokens);
    Model model = make_model(parameters);
    const auto state = std::make_unique<StepState>();
    forward_and_backward(model, *state, 0);
    EXPECT_THROW(model.backward(*state), Error);
  }
}

TEST_P(ProductGradients, RefuseASecondModel) {
  if (GetParam().matrices == 0) return;
  use_bf16();
  for (const int64_t update_tokens : {kFactored, kWhole}) {
    Parameters parameters = make_parameters(update_tokens);
    const Model model = make_model(parameters);
    EXPECT_THROW(make_model(parameters), Error);
  }
}

// A batch without masked tokens makes products of no rows.
TEST_P(ProductGradients, OfNoTokensChangeNothing) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    kernels_ = make_cpu_kernels(pool_, "baseline", precision);
    Parameters parameters = make_parameters(kFactored);
    const Model model = make_model(parameters);
    options_.weight_decay = 0;
    Optimizer optimizer(options_, parameters, *kernels_);
    for (Parameter& each : parameters.handles()) {
      const Tensor value = each.value().as_matrix();
      const Tensor dy{.rank = 2, .shape = {0, value.rows()}};
      const Tensor x{.rank = 2, .shape = {0, value.columns()}};
      each.take_product(*kernels_, dy, x);
    }
    const std::vector<float> before = read(parameters.values());
    const auto state = std::make_unique<StepState>();
    state->begin({.learning_rate = 1e-2f});
    optimizer.step(*state);
    EXPECT_EQ(state->outcome().grad_norm, 0);
    EXPECT_EQ(read(parameters.values()), before);
  }
}

TEST_P(ProductGradients, AnUpdateWithoutBackwardIsRefused) {
  if (GetParam().matrices == 0) return;
  use_bf16();
  for (const int64_t update_tokens : {kFactored, kWhole}) {
    Parameters parameters = make_parameters(update_tokens);
    const Model model = make_model(parameters);
    Optimizer optimizer(options_, parameters, *kernels_);
    const auto state = std::make_unique<StepState>();
    EXPECT_THROW(optimizer.step(*state), Error);
  }
}

TEST_P(ProductGradients, AreRefusedByLamb) {
  use_bf16();
  for (const int64_t update_tokens : {kFactored, kWhole}) {
    Parameters parameters = make_parameters(update_tokens);
    EXPECT_THROW(Optimizer({.type = OptimizerType::kLamb}, parameters, *kernels_), Error);
  }
}

class ProductGradientsOfSharedLayers : public ProductGradients {};

// All layers share one set of parameters, so the head's depth is less than the number of layers.
TEST_P(ProductGradientsOfSharedLayers, TrainAsSummedOnes) {
  config_.num_hidden_groups = 1;
  options_.max_grad_norm = 0;
  for (const bool recomputes : {false, true}) {
    recomputes_ = recomputes;
    EXPECT_EQ(train(kWhole).values, train(kSummed).values);
    expect_the_same();
  }
}

TEST_P(ProductGradients, OfMoreThan8192TokensStayInFp32) {
  use_bf16();
  const auto plan = [&](int64_t update_tokens) {
    return Parameters::plan(parameter_table(config_), /*with_gradients=*/true, *kernels_,
                            {.update_tokens = update_tokens});
  };
  const Parameters parameters = plan(8192), longer = plan(8193);
  EXPECT_EQ(longer.kept_bytes(), 2 * parameters.kept_bytes());
}

// The gradients of the deepest parameters come first, because backward makes them first.
TEST_P(ProductGradients, AreLaidOutByDepth) {
  Parameters parameters = make_parameters(kWhole);
  std::vector<std::byte> room(parameters.kept_bytes());
  parameters.keep_products(room.data());
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    if (parameters.gradient_form(i) != GradientForm::kWhole) continue;
    const int64_t depth = parameters.specs()[i].depth;
    const Tensor gradient = parameters.gradient(i);
    const auto begin = static_cast<size_t>(gradient.data - room.data());
    EXPECT_GE(begin, parameters.kept_bytes(depth + 1));
    EXPECT_LE(begin + gradient.size_bytes(), parameters.kept_bytes(depth));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ProductGradientsOfSharedLayers, testing::Values(Expected{"albert", 0}),
                         [](const testing::TestParamInfo<Expected>& tested) {
                           return tested.param.model;
                         });

INSTANTIATE_TEST_SUITE_P(Of, ProductGradients,
                         testing::Values(Expected{"bert", 4}, Expected{"albert", 0},
                                         Expected{"distilbert", 4}, Expected{"electra", 4},
                                         Expected{"deberta-v2", 3}, Expected{"megatron-bert", 4}),
                         [](const testing::TestParamInfo<Expected>& tested) {
                           std::string name = tested.param.model;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace berth
