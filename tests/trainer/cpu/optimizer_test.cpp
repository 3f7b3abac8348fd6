#include "trainer/cpu/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "storage/base/philox.h"
#include "storage/base/thread_pool.h"
#include "tests/support/tiny_config.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/model/lora.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {
namespace {

using testing::Each;

// AdamW in double precision, one number after the other: algorithm 2 of Loshchilov and Hutter 2019
// in the form of torch.optim.AdamW. Gradients are clipped to a global norm first.
struct NaiveAdamW {
  OptimizerOptions options;
  std::vector<double> w, m, v;
  std::vector<bool> decays;
  int steps = 0;

  // Returns the norm before clipping.
  double step(const std::vector<float>& gradient_sum, double examples, double rate) {
    ++steps;
    double squares = 0;
    for (const double g : gradient_sum) squares += g / examples * (g / examples);
    const double norm = std::sqrt(squares);
    const bool clips = options.max_grad_norm > 0 && norm > options.max_grad_norm;
    const double beta1 = options.adamw.beta1, beta2 = options.adamw.beta2;
    for (size_t i = 0; i < w.size(); ++i) {
      const double g = gradient_sum[i] / examples * (clips ? options.max_grad_norm / norm : 1);
      m[i] = beta1 * m[i] + (1 - beta1) * g;
      v[i] = beta2 * v[i] + (1 - beta2) * g * g;
      if (decays[i]) w[i] -= rate * options.weight_decay * w[i];
      w[i] -= rate * (m[i] / (1 - std::pow(beta1, steps))) /
              (std::sqrt(v[i] / (1 - std::pow(beta2, steps))) + options.adamw.epsilon);
    }
    return norm;
  }
};

class OptimizerTest : public testing::Test {
 protected:
  static constexpr int kExamples = 3;

  OptimizerTest() {
    naive_.w = random(0, 0.5);
    upload(parameters_.values(), naive_.w);
    naive_.m.resize(naive_.w.size());
    naive_.v.resize(naive_.w.size());
    for (const ParameterSpec& spec : parameters_.specs()) {
      naive_.decays.insert(naive_.decays.end(), static_cast<size_t>(spec.elements()), spec.decays);
    }
  }

  std::vector<double> random(uint32_t stream, double scale) const {
    std::vector<double> values(static_cast<size_t>(parameters_.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      const uint32_t bits = philox4x32({static_cast<uint32_t>(i), stream, 0, 0}, {1, 2})[0];
      values[i] = static_cast<float>(scale * (bits * 0x1p-31 - 1));
    }
    return values;
  }
  void upload(Tensor tensor, const std::vector<double>& values) {
    const std::vector<float> single(values.begin(), values.end());
    copy_in(tensor, single.data());
  }
  void upload_gradients(const std::vector<double>& values) {
    upload(parameters_.gradients(), values);
    parameters_.mark_all_rows();
  }
  std::vector<float> read(Tensor tensor) {
    std::vector<float> host(static_cast<size_t>(tensor.elements()));
    copy_out(tensor, host.data());
    return host;
  }
  // Counts kExamples examples in the state, as a forward pass does.
  void count_examples() {
    const auto memory = std::make_unique<Memory>(4096);
    Arena arena(*memory);
    const Tensor logits = arena.make(DType::kF32, {kExamples, 2});
    const Tensor labels = arena.make(DType::kI32, {kExamples});
    kernels_->cross_entropy({logits, labels}, 0, *state_, {});
  }
  // Both optimizers take one step, and must report the same norm.
  void step_both(Optimizer& optimizer, double gradient_scale, float rate) {
    const auto index = static_cast<uint32_t>(naive_.steps);
    const std::vector<double> gradients = random(1 + index, gradient_scale);
    state_->begin({.step = index, .learning_rate = rate});
    count_examples();
    upload_gradients(gradients);
    const double norm = naive_.step({gradients.begin(), gradients.end()}, kExamples, rate);
    optimizer.step(*state_);
    EXPECT_NEAR(state_->outcome().grad_norm, norm, 1e-5 * norm);
  }
  // Our optimizer takes one step in which all gradients are `gradient_sum`, summed over kExamples
  // examples. Returns the parameters.
  std::vector<float> step_evenly(Optimizer& optimizer, double gradient_sum, float rate) {
    state_->begin({.learning_rate = rate});
    count_examples();
    upload_gradients(std::vector<double>(naive_.w.size(), gradient_sum));
    optimizer.step(*state_);
    return read(parameters_.values());
  }
  void check_that_only_what_trains_changes(std::vector<ParameterSpec> table);
  void expect_same() {
    const auto near = [&](Tensor tensor, const std::vector<double>& expected, double tolerance) {
      const std::vector<float> actual = read(tensor);
      for (size_t i = 0; i < actual.size(); ++i) {
        ASSERT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
      }
    };
    near(parameters_.values(), naive_.w, 2e-6);
    near(parameters_.first_moments(), naive_.m, 1e-6);
    near(parameters_.second_moments(), naive_.v, 1e-6);
  }

  ThreadPool pool_{2};
  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels(pool_);
  Parameters parameters_{parameter_table(tiny_config()), true, *kernels_};
  std::unique_ptr<StepState> state_ = std::make_unique<StepState>();
  NaiveAdamW naive_{.options = {}, .w = {}, .m = {}, .v = {}, .decays = {}};
};

TEST_F(OptimizerTest, AgreesWithItsDefinitionOverSeveralSteps) {
  naive_.options = {.adamw = {}, .weight_decay = 0.1, .max_grad_norm = 0};
  Optimizer optimizer(naive_.options, parameters_, *kernels_);
  for (const float rate : {0.0f, 1e-2f, 2e-2f, 1e-2f, 5e-3f, 1e-3f}) {
    step_both(optimizer, 2, rate);
    expect_same();
  }
}

TEST_F(OptimizerTest, ClipsTheNormOfAllGradientsTogether) {
  naive_.options = {.adamw = {}, .weight_decay = 0.01, .max_grad_norm = 1};
  Optimizer optimizer(naive_.options, parameters_, *kernels_);
  for (const double scale : {100.0, 0.001, 7.0, 0.01}) {  // above and below the limit
    step_both(optimizer, scale, 1e-2f);
    expect_same();
  }
}

TEST_F(OptimizerTest, DecayAloneShrinksMatricesAndNothingElse) {
  Optimizer optimizer({.adamw = {}, .weight_decay = 0.5, .max_grad_norm = 1}, parameters_,
                      *kernels_);
  const std::vector<float> before = read(parameters_.values());
  state_->begin({.learning_rate = 0.1f});
  count_examples();
  optimizer.step(*state_);  // all gradients are 0
  const std::vector<float> after = read(parameters_.values());
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_FLOAT_EQ(after[i], before[i] * (naive_.decays[i] ? 0.95f : 1.0f)) << "element " << i;
  }
}

TEST_F(OptimizerTest, LeavesZeroGradientsForTheNextUpdate) {
  Optimizer optimizer({}, parameters_, *kernels_);
  step_both(optimizer, 1, 1e-3f);
  EXPECT_THAT(read(parameters_.gradients()), Each(0.0f));
}

TEST_F(OptimizerTest, ARateOfZeroMovesTheMomentsOnly) {
  Optimizer optimizer({}, parameters_, *kernels_);
  const std::vector<float> before = read(parameters_.values());
  step_both(optimizer, 1, 0);
  EXPECT_EQ(read(parameters_.values()), before);
  EXPECT_THAT(read(parameters_.first_moments()), Each(testing::Ne(0.0f)));
}

// AdamW's first step has the size of the rate, whatever the size of the gradient.
TEST_F(OptimizerTest, LowerLayersMayLearnMoreSlowly) {
  Optimizer optimizer({.weight_decay = 0, .layerwise_decay = 0.5}, parameters_, *kernels_);
  const std::vector<float> before = read(parameters_.values());
  const std::vector<float> after = step_evenly(optimizer, 1.0, 0.25f);
  const int64_t deepest = parameters_.specs().back().depth;
  ASSERT_GE(deepest, 2);
  for (size_t p = 0; p < parameters_.specs().size(); ++p) {
    const auto at = static_cast<size_t>(parameters_.offset(p));
    const int64_t above = deepest - parameters_.specs()[p].depth;
    EXPECT_NEAR(before[at] - after[at], 0.25 / std::pow(2.0, above), 1e-5)
        << parameters_.specs()[p].name;
  }
}

// Biases and layer norms take AdamW's step. The step of a matrix has the rate times the matrix's
// norm.
TEST_F(OptimizerTest, LambMovesMatricesInProportionToTheirNorm) {
  Optimizer optimizer({.type = OptimizerType::kLamb, .weight_decay = 0}, parameters_, *kernels_);
  const std::vector<float> before = read(parameters_.values());
  const std::vector<float> after = step_evenly(optimizer, 1.0, 0.125f);
  for (size_t p = 0; p < parameters_.specs().size(); ++p) {
    const ParameterSpec& spec = parameters_.specs()[p];
    const auto at = static_cast<size_t>(parameters_.offset(p));
    double squares = 0, moved = 0;
    for (size_t i = at; i < at + static_cast<size_t>(spec.elements()); ++i) {
      squares += static_cast<double>(before[i]) * before[i];
      moved += std::pow(static_cast<double>(after[i]) - before[i], 2);
    }
    const double size = spec.decays ? std::sqrt(squares) : std::sqrt(spec.elements());
    EXPECT_NEAR(std::sqrt(moved), 0.125 * size, 1e-5 * size) << spec.name;
  }
}

TEST_F(OptimizerTest, BeginsWithoutMomentum) {
  EXPECT_THAT(read(parameters_.first_moments()), Each(0.0f));
  EXPECT_THAT(read(parameters_.second_moments()), Each(0.0f));
}

// Parameters that do not train keep their values, have no part in the norm, and have neither
// gradients nor moments.
TEST_F(OptimizerTest, UpdatesOnlyWhatTrains) {
  for (const LoraOptions& lora : {LoraOptions(), LoraOptions{.rank = 2}}) {
    check_that_only_what_trains_changes(parameter_table(tiny_config(), lora, /*first_depth=*/2));
  }
}

void OptimizerTest::check_that_only_what_trains_changes(std::vector<ParameterSpec> table) {
  Parameters adapted(std::move(table), true, *kernels_);
  Optimizer optimizer({.max_grad_norm = 0}, adapted, *kernels_);
  const int64_t learning = trained_elements(adapted.specs());
  ASSERT_GT(learning, 0);
  EXPECT_EQ(adapted.gradients().elements(), learning);
  EXPECT_EQ(adapted.first_moments().elements(), learning);
  for (size_t i = 0; i < adapted.specs().size(); ++i) {
    const ParameterSpec& spec = adapted.specs()[i];
    for (const Tensor& each :
         {adapted.gradient(i), adapted.first_moment(i), adapted.second_moment(i)}) {
      EXPECT_EQ(static_cast<bool>(each), spec.trains) << spec.name;
    }
    if (!spec.trains) continue;
    EXPECT_GE(spec.depth, 2) << spec.name;
    upload(adapted.gradient(i), std::vector<double>(static_cast<size_t>(spec.elements()), 3.0));
  }
  state_->begin({.learning_rate = 0.1f});
  count_examples();
  optimizer.step(*state_);
  EXPECT_NEAR(state_->outcome().grad_norm, std::sqrt(static_cast<double>(learning)),
              1e-5 * static_cast<double>(learning));
  EXPECT_THAT(read(adapted.gradients()), Each(0));
  for (size_t i = 0; i < adapted.specs().size(); ++i) {
    const ParameterSpec& spec = adapted.specs()[i];
    EXPECT_THAT(read(adapted.value(i)), Each(testing::Eq(spec.trains ? -0.1f : 0.0f))) << spec.name;
  }
}

}  // namespace
}  // namespace berth
