#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/trainer/cpu/kernels/reference.h"
#include "trainer/cpu/kernels/instruction_set.h"

namespace berth {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The loops' own exp, tanh and erf, compiled for each instruction set.
class Functions : public testing::TestWithParam<const CpuLoops*> {
 protected:
  static std::vector<float> range(double begin, double end, double step) {
    std::vector<float> x;
    for (double value = begin; value < end; value += step) x.push_back(static_cast<float>(value));
    return x;
  }
  static std::vector<float> exp(const std::vector<float>& x) {
    std::vector<float> y(x.size());
    GetParam()->softmax(x.data(), 0, static_cast<int64_t>(x.size()), y.data());
    return y;
  }
  static std::vector<float> activate(Activation activation, const std::vector<float>& x) {
    std::vector<float> y(x.size());
    GetParam()->activation_forward[static_cast<size_t>(activation)](x.data(), y.data(),
                                                                    static_cast<int64_t>(x.size()));
    return y;
  }
  static double ulps(float actual, double expected) {
    const auto nearest = static_cast<float>(expected);
    const float next = std::nextafter(nearest, kInfinity);
    return std::abs(static_cast<double>(actual) - expected) / static_cast<double>(next - nearest);
  }
};

TEST_P(Functions, ExpIsWithinTwoUlpWhereItIsNormal) {
  const std::vector<float> x = range(-87.33, 88.72, 7.1e-4), y = exp(x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, ulps(y[i], std::exp(static_cast<double>(x[i]))));
  }
  EXPECT_LE(worst, 2);
}

TEST_P(Functions, ExpAtItsExtremes) {
  const std::vector<float> y = exp(
      {0.0f, -0.0f, 88.72f, -88, -1e30f, -kInfinity, 89, 1e30f, kInfinity, kNaN, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 1);
  EXPECT_TRUE(std::isfinite(y[2]));
  for (int i = 3; i < 6; ++i) EXPECT_EQ(y[static_cast<size_t>(i)], 0) << i;
  for (int i = 6; i < 9; ++i) EXPECT_EQ(y[static_cast<size_t>(i)], kInfinity) << i;
  EXPECT_TRUE(std::isnan(y[9]));
}

TEST_P(Functions, TanhIsCloseAndSaturates) {
  const std::vector<float> x = range(-12, 12, 1e-4), y = activate(Activation::kTanh, x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    worst =
        std::max(worst, std::abs(static_cast<double>(y[i]) - std::tanh(static_cast<double>(x[i]))));
    ASSERT_LE(std::abs(y[i]), 1.0f);
  }
  EXPECT_LE(worst, 4e-7);
  const std::vector<float> ends = activate(Activation::kTanh, {0, kInfinity, -kInfinity, kNaN});
  EXPECT_EQ(ends[0], 0);
  EXPECT_NEAR(ends[1], 1, 2e-7);
  EXPECT_NEAR(ends[2], -1, 2e-7);
  EXPECT_TRUE(std::isnan(ends[3]));
}

TEST_P(Functions, GeluAndSiluHaveASmallRelativeError) {
  const std::vector<float> x = range(-8, 8, 1e-4);
  for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    const std::vector<float> y = activate(kind, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const auto exact = static_cast<double>(x[i]);
      const double error = std::abs(static_cast<double>(y[i]) - reference::activation(kind, exact));
      worst = std::max(worst, error / (std::abs(exact) + 1e-30));
    }
    EXPECT_LE(worst, 3e-7);
  }
}

TEST_P(Functions, ActivationsKeepNaN) {
  EXPECT_TRUE(std::isnan(activate(Activation::kGelu, {kNaN})[0]));
  EXPECT_TRUE(std::isnan(activate(Activation::kGeluTanh, {kNaN})[0]));
  EXPECT_TRUE(std::isnan(activate(Activation::kRelu, {kNaN})[0]));
  EXPECT_TRUE(std::isnan(activate(Activation::kSilu, {kNaN})[0]));
}

INSTANTIATE_TEST_SUITE_P(Loops, Functions, testing::ValuesIn(supported_loops()),
                         [](const auto& loops) { return loops.param->instruction_set; });

}  // namespace
}  // namespace berth
