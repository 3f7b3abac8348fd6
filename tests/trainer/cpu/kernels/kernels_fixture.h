#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "storage/base/error.h"
#include "tests/trainer/cpu/kernels/reference.h"
#include "trainer/cpu/kernels/cpu_kernels.h"

namespace berth {

struct Backend {
  std::string instruction_set;
  int threads;
};

inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.instruction_set << ", " << backend.threads << " threads";
}

// Runs every case on every instruction set of this CPU, with one thread and with three.
class KernelsTest : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override { set_up(Precision::kFp32); }

  void set_up(Precision precision) {
    try {
      kernels_ = make_cpu_kernels(pool_, GetParam().instruction_set, precision);
    } catch (const Error& error) {
      GTEST_SKIP() << "NOT TESTED HERE: " << error.what();
    }
    state_ = std::make_unique<StepState>();
    state_->begin(inputs_);
  }

  Kernels& kernels() { return *kernels_; }

  // Starts a new update.
  void begin(const UpdateInputs& inputs, uint64_t first_token = 0, uint64_t first_sequence = 0) {
    inputs_ = inputs;
    state_->begin(inputs);
    state_->begin_micro_batch(first_token, first_sequence);
  }

  // Counts `examples` examples in the state, so that gradients are divided by their number.
  void count_examples(int64_t examples) {
    const std::vector<int32_t> labels(static_cast<size_t>(examples));
    kernels().cross_entropy({zeros({examples, 2}), ids(labels)}, 0, *state_, {});
  }

  Tensor tensor(std::initializer_list<int64_t> shape, const reference::Vector& values) {
    const std::vector<float> floats(values.begin(), values.end());
    const Tensor made = make(DType::kF32, shape);
    EXPECT_EQ(made.elements(), static_cast<int64_t>(floats.size()));
    copy_in(made, floats.data());
    return made;
  }
  // A tensor of NaN. It shows a test which elements an operation failed to overwrite.
  Tensor garbage(std::initializer_list<int64_t> shape) {
    const Tensor made = make(DType::kF32, shape);
    fill(made, std::numeric_limits<double>::quiet_NaN());
    return made;
  }
  Tensor zeros(std::initializer_list<int64_t> shape) { return make(DType::kF32, shape); }
  // Memory for an activation that only products read.
  Tensor kept(std::initializer_list<int64_t> shape) {
    return make(kernels().product_dtype(), shape);
  }
  Tensor ids(const std::vector<int32_t>& values) {
    const Tensor made = make(DType::kI32, {static_cast<int64_t>(values.size())});
    copy_in(made, values.data());
    return made;
  }
  void fill(Tensor x, double value) {
    const std::vector<float> floats(static_cast<size_t>(x.elements()), static_cast<float>(value));
    copy_in(x, floats.data());
  }
  std::unique_ptr<Weight> weight(std::initializer_list<int64_t> shape,
                                 const reference::Vector& values) {
    return kernels().make_weight(tensor(shape, values), WeightUse::kTraining);
  }

  void add_squares(ConstTensor gradient) {
    const Gradient whole{.values = gradient};
    kernels().add_squares({&whole, 1}, *state_);
  }

  std::vector<float> floats(Tensor x) {
    std::vector<float> values(static_cast<size_t>(x.elements()));
    copy_out(x, values.data());
    return values;
  }
  reference::Vector values(Tensor x) {
    const std::vector<float> single = floats(x);
    return {single.begin(), single.end()};
  }

  // Normal numbers of standard deviation `scale` that fp32 represents exactly. They are the same in
  // every run.
  reference::Vector random(int64_t count, double scale = 1) {
    std::normal_distribution<double> normal(0, scale);
    reference::Vector x(static_cast<size_t>(count));
    for (double& value : x) value = static_cast<double>(static_cast<float>(normal(generator_)));
    return x;
  }
  std::vector<int32_t> random_ids(int64_t count, int32_t end) {
    std::vector<int32_t> x(static_cast<size_t>(count));
    for (int32_t& id : x) id = std::uniform_int_distribution<int32_t>(0, end - 1)(generator_);
    return x;
  }

  // Every element must be within `tolerance` times the largest expected magnitude, or times 1e-3 if
  // that is larger.
  void expect_near(Tensor actual, const reference::Vector& expected, double tolerance,
                   const std::string& what) {
    const reference::Vector x = values(actual);
    ASSERT_EQ(x.size(), expected.size()) << what;
    double largest = 1e-3;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_LE(std::abs(x[i] - expected[i]), tolerance * largest)  // false for NaN
          << what << "[" << i << "] is " << x[i] << ", not " << expected[i];
    }
  }

  ThreadPool pool_{GetParam().threads};
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<StepState> state_;
  UpdateInputs inputs_{.seed = 0x123456789abcdef0, .step = 7, .learning_rate = 0.01f};

 private:
  Tensor make(DType dtype, std::initializer_list<int64_t> shape) {
    Arena plan;
    plan.make(dtype, shape);
    memory_.emplace_back(plan.used_bytes());
    return Arena(memory_.back()).make(dtype, shape);
  }

  std::mt19937_64 generator_{20240229};
  std::vector<Memory> memory_;
};

// A suite whose products are in bf16. Its results must be within 1 % of the definition.
template <typename Suite>
class InBf16 : public Suite {
 protected:
  void SetUp() override {
    this->set_up(Precision::kBf16);
    this->tolerance_ = 1e-2;
  }
};

inline std::string backend_name(const testing::TestParamInfo<Backend>& info) {
  return info.param.instruction_set + "_" + std::to_string(info.param.threads) + "_threads";
}

#define BERTH_INSTANTIATE_KERNELS(suite)                                                  \
  INSTANTIATE_TEST_SUITE_P(                                                               \
      Cpu, suite,                                                                         \
      testing::Values(Backend{"baseline", 1}, Backend{"baseline", 3}, Backend{"avx2", 1}, \
                      Backend{"avx2", 3}, Backend{"avx512", 1}, Backend{"avx512", 3}),    \
      backend_name)

}  // namespace berth
