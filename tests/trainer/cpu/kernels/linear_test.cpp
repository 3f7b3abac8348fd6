#include <bit>
#include <limits>

#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::numeric_gradient;
using reference::Vector;

Vector sum_of(Vector a, const Vector& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

class Linear : public KernelsTest {
 protected:
  void check_forward(int64_t tokens, int64_t inputs, int64_t outputs) {
    const Vector x = random(tokens * inputs), w = random(outputs * inputs), bias = random(outputs);
    const Tensor y = garbage({tokens, outputs});
    kernels().linear_forward(tensor({tokens, inputs}, x), *weight({outputs, inputs}, w),
                             tensor({outputs}, bias), y);
    expect_near(y, reference::linear(x, w, bias), 1e-5, "y");
  }

  void check_backward(int64_t tokens, int64_t inputs, int64_t outputs, Into into) {
    const Vector x = random(tokens * inputs), w = random(outputs * inputs), bias = random(outputs);
    const Vector dy = random(tokens * outputs), old_dx = random(tokens * inputs);
    const Vector old_dw = random(outputs * inputs), old_dbias = random(outputs);
    const Tensor dx =
        into == Into::kAdd ? tensor({tokens, inputs}, old_dx) : garbage({tokens, inputs});
    const Tensor dw = tensor({outputs, inputs}, old_dw), dbias = tensor({outputs}, old_dbias);
    kernels().linear_backward(tensor({tokens, outputs}, dy), tensor({tokens, inputs}, x),
                              *weight({outputs, inputs}, w), dx, into, {dw, dbias});
    const auto f = reference::linear;
    Vector expected = numeric_gradient([&](const Vector& a) { return f(a, w, bias); }, x, dy);
    if (into == Into::kAdd) expected = sum_of(expected, old_dx);
    expect_near(dx, expected, 1e-5, "dx");
    expect_near(
        dw, sum_of(numeric_gradient([&](const Vector& a) { return f(x, a, bias); }, w, dy), old_dw),
        1e-5, "dw");
    expect_near(
        dbias,
        sum_of(numeric_gradient([&](const Vector& a) { return f(x, w, a); }, bias, dy), old_dbias),
        1e-5, "dbias");
  }
};

// Linear layers with products in bf16: factors are rounded to bf16, sums stay in fp32.
class Bf16Linear : public KernelsTest {
 protected:
  void SetUp() override { set_up(Precision::kBf16); }

  // Random numbers that bf16 represents exactly.
  Vector rounded(int64_t count) {
    Vector x = random(count);
    for (double& value : x) value = std::round(value * 16) / 16;
    return x;
  }

  static constexpr int64_t kTokens = 37, kInputs = 65, kOutputs = 70;
};

TEST_P(Bf16Linear, AgreesWithItsDefinition) {
  const Vector x = rounded(kTokens * kInputs), w = rounded(kOutputs * kInputs);
  const Vector bias = random(kOutputs), dy = rounded(kTokens * kOutputs);
  const auto weights = weight({kOutputs, kInputs}, w);
  const Tensor inputs = tensor({kTokens, kInputs}, x), y = garbage({kTokens, kOutputs});
  kernels().linear_forward(inputs, *weights, tensor({kOutputs}, bias), y);
  expect_near(y, reference::linear(x, w, bias), 1e-5, "y");

  const Vector old_dx = random(kTokens * kInputs), old_dw = random(kOutputs * kInputs);
  const Tensor dx = tensor({kTokens, kInputs}, old_dx), dw = tensor({kOutputs, kInputs}, old_dw);
  kernels().linear_backward(tensor({kTokens, kOutputs}, dy), inputs, *weights, dx, Into::kAdd,
                            {dw, {}});
  const auto f = reference::linear;
  expect_near(
      dx, sum_of(numeric_gradient([&](const Vector& a) { return f(a, w, bias); }, x, dy), old_dx),
      1e-5, "dx");
  expect_near(
      dw, sum_of(numeric_gradient([&](const Vector& a) { return f(x, a, bias); }, w, dy), old_dw),
      1e-5, "dw");
}

TEST_P(Bf16Linear, RoundsItsFactors) {
  const auto w = weight({32, 1}, Vector(32, 1 + 0x1p-10));
  const Tensor x = tensor({1, 1}, {1 - 0x1p-10}), y = garbage({1, 32});
  kernels().linear_forward(x, *w, zeros({32}), y);
  expect_near(y, Vector(32, 1), 0, "y");
  EXPECT_EQ(kernels().product_dtype(), DType::kBF16);
}

// The sums are kept rounded to bf16. The activation and its gradient are those of the rounded sums.
TEST_P(Bf16Linear, ActivatesTheRoundedSums) {
  EXPECT_EQ(kernels().product_dtype(), DType::kBF16);
  const Vector x = rounded(kTokens * kInputs), w = rounded(kOutputs * kInputs);
  const auto weights = weight({kOutputs, kInputs}, w);
  const Tensor inputs = tensor({kTokens, kInputs}, x), bias = tensor({kOutputs}, random(kOutputs));
  const Tensor sums = garbage({kTokens, kOutputs}), y = garbage({kTokens, kOutputs});
  const Tensor pre = kept({kTokens, kOutputs}), again = garbage({kTokens, kOutputs});
  kernels().linear_forward(inputs, *weights, bias, sums);
  kernels().linear_activation_forward(inputs, *weights, bias, Activation::kGelu, pre, y);
  kernels().activation_forward(pre, Activation::kGelu, again);
  EXPECT_EQ(floats(again), floats(y));
  kernels().convert(pre, again);
  const Vector nearest = values(again);
  expect_near(sums, nearest, 0x1p-8, "pre");
  expect_near(y, reference::activation(Activation::kGelu, nearest), 1e-5, "y");
  const Tensor second_pre = kept({kTokens, kOutputs});
  kernels().activation_forward(sums, Activation::kGelu, sums, second_pre);
  EXPECT_EQ(floats(sums), floats(y));

  const Tensor dy = tensor({kTokens, kOutputs}, Vector(kTokens * kOutputs, 1));
  kernels().activation_backward(pre, Activation::kGelu, dy);
  kernels().linear_backward(dy, inputs, *weights, {}, Into::kOverwrite, {});
  const auto gelu = [](const Vector& a) { return reference::activation(Activation::kGelu, a); };
  expect_near(dy, numeric_gradient(gelu, nearest, Vector(nearest.size(), 1)), 2e-5, "dpre");
}

TEST_P(Bf16Linear, KeepsTheNearestNumber) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  const Vector x = {1 + 0x1p-8, 1 + 3 * 0x1p-8, -1 - 0x1.1p-8, kUnbounded, 0x1.fffffep127, 0};
  const Vector nearest = {1, 1 + 4 * 0x1p-8, -1 - 0x1p-7, kUnbounded, kUnbounded, 0};
  const Tensor there = kept({6}), back = garbage({6});
  kernels().convert(tensor({6}, x), there);
  kernels().convert(there, back);
  EXPECT_EQ(values(back), nearest);
  const float nan = std::bit_cast<float>(0x7f800001u);  // has only low bits set
  const Tensor one = garbage({1}), one_kept = kept({1});
  copy_in(one, &nan);
  kernels().convert(one, one_kept);
  kernels().convert(one_kept, one);
  EXPECT_TRUE(std::isnan(floats(one)[0]));
}

TEST_P(Bf16Linear, UsesChangedValuesAfterRefresh) {
  const Tensor values = tensor({32, 1}, Vector(32, 1));
  const auto w = kernels().make_weight(values, WeightUse::kTraining);
  fill(values, 2);
  w->refresh();
  const Tensor y = garbage({3, 32}), dx = garbage({3, 1});
  kernels().linear_forward(tensor({3, 1}, Vector(3, 1)), *w, zeros({32}), y);
  kernels().linear_backward(y, {}, *w, dx, Into::kOverwrite, {});
  expect_near(y, Vector(96, 2), 0, "y");
  expect_near(dx, Vector(3, 128), 0, "dx");
}

// Takes few and many tokens. A weight for few tokens is never packed, so it needs no refresh.
TEST_P(Bf16Linear, GivesTheSameResultForEveryUseOfAWeight) {
  for (const int64_t tokens : {1, 70, 1090}) {
    const Tensor master = tensor({48, 40}, random(48 * 40)), bias = tensor({48}, random(48));
    const auto of_few = kernels().make_weight(master, WeightUse::kTrainingOfFewTokens);
    const std::vector<float> changed = floats(tensor({48, 40}, random(48 * 40)));
    copy_in(master, changed.data());
    const auto training = kernels().make_weight(master, WeightUse::kTraining);
    const auto inference = kernels().make_weight(master, WeightUse::kInference);
    const Tensor x = tensor({tokens, 40}, random(tokens * 40));
    const Tensor dy = tensor({tokens, 48}, random(tokens * 48));
    std::vector<std::vector<float>> y, dx;
    for (const Weight* w : {training.get(), of_few.get(), inference.get()}) {
      const Tensor sums = garbage({tokens, 48}), gradient = garbage({tokens, 40});
      kernels().linear_forward(x, *w, bias, sums);
      y.push_back(floats(sums));
      if (w == inference.get()) continue;
      kernels().linear_backward(dy, {}, *w, gradient, Into::kOverwrite, {});
      dx.push_back(floats(gradient));
    }
    EXPECT_EQ(y[0], y[1]) << tokens;
    EXPECT_EQ(y[0], y[2]) << tokens;
    EXPECT_EQ(dx[0], dx[1]) << tokens;
  }
}

TEST_P(Bf16Linear, PacksOnceForInferenceAndNeverForFewTokens) {
  const size_t bf16 = 64 * 96 * 2;
  const auto packed_bytes = [&](WeightUse use) {
    const ConstTensor without_data{.rank = 2, .shape = {64, 96}};
    return kernels().make_weight(without_data, use)->packed_bytes();
  };
  EXPECT_EQ(packed_bytes(WeightUse::kInference), bf16);
  EXPECT_EQ(packed_bytes(WeightUse::kTrainingOfFewTokens), 0u);
  const size_t training = packed_bytes(WeightUse::kTraining);
  EXPECT_TRUE(training == 0 || training == 2 * bf16) << training;
}

TEST_P(Bf16Linear, OfFewOutputsStaysInFp32) {
  const Vector x = random(7 * 40), w = random(4 * 40), bias = random(4);
  const Tensor y = garbage({7, 4});
  kernels().linear_forward(tensor({7, 40}, x), *weight({4, 40}, w), tensor({4}, bias), y);
  expect_near(y, reference::linear(x, w, bias), 1e-5, "y");
}

TEST_P(Linear, ForwardAgreesWithItsDefinition) {
  check_forward(1, 8, 3);
  check_forward(7, 13, 5);
  check_forward(33, 64, 130);
}

TEST_P(Linear, ForwardOfManyTilesAgrees) {
  check_forward(203, 129, 171);
  check_forward(3, 100, 4001);  // so wide that its columns are cut into tiles
  check_forward(1999, 60, 7);
}

TEST_P(Linear, BackwardAgreesWithFiniteDifferences) {
  check_backward(1, 8, 3, Into::kOverwrite);
  check_backward(7, 13, 5, Into::kOverwrite);
  check_backward(40, 5, 9, Into::kOverwrite);
}

TEST_P(Linear, BackwardAddsIntoAResidual) { check_backward(6, 9, 17, Into::kAdd); }

TEST_P(Linear, BackwardOfManyTilesAgrees) {
  const int64_t tokens = 401, inputs = 130, outputs = 67;
  const Vector x = random(tokens * inputs), w = random(outputs * inputs),
               dy = random(tokens * outputs);
  const Tensor dx = garbage({tokens, inputs}), dw = zeros({outputs, inputs}),
               dbias = zeros({outputs});
  kernels().linear_backward(tensor({tokens, outputs}, dy), tensor({tokens, inputs}, x),
                            *weight({outputs, inputs}, w), dx, Into::kOverwrite, {dw, dbias});
  Vector expected_dx(x.size()), expected_dw(w.size()), expected_dbias(static_cast<size_t>(outputs));
  for (size_t t = 0; t < 401; ++t) {
    for (size_t n = 0; n < 67; ++n) {
      expected_dbias[n] += dy[t * 67 + n];
      for (size_t k = 0; k < 130; ++k) {
        expected_dx[t * 130 + k] += dy[t * 67 + n] * w[n * 130 + k];
        expected_dw[n * 130 + k] += dy[t * 67 + n] * x[t * 130 + k];
      }
    }
  }
  expect_near(dx, expected_dx, 1e-5, "dx");
  expect_near(dw, expected_dw, 1e-5, "dw");
  expect_near(dbias, expected_dbias, 1e-5, "dbias");
}

TEST_P(Linear, BackwardSkipsNullGradients) {
  const Tensor dy = tensor({4, 6}, random(24)), x = tensor({4, 8}, random(32));
  const auto w = weight({6, 8}, random(48));
  const Tensor dx = garbage({4, 8}), dw = zeros({6, 8}), dbias = zeros({6});
  kernels().linear_backward(dy, x, *w, dx, Into::kOverwrite, {dw, dbias});
  const Tensor dx_alone = garbage({4, 8}), dw_alone = zeros({6, 8}), dbias_alone = zeros({6});
  kernels().linear_backward(dy, x, *w, dx_alone, Into::kOverwrite, {});
  kernels().linear_backward(dy, x, *w, {}, Into::kOverwrite, {dw_alone, {}});
  kernels().linear_backward(dy, x, *w, {}, Into::kOverwrite, {{}, dbias_alone});
  EXPECT_EQ(floats(dx_alone), floats(dx));
  EXPECT_EQ(floats(dw_alone), floats(dw));
  EXPECT_EQ(floats(dbias_alone), floats(dbias));
}

TEST_P(Linear, OfNoTokensChangesNoGradient) {
  const Tensor x = zeros({0, 8}), y = zeros({0, 6});
  const auto w = weight({6, 8}, random(48));
  const Vector before = random(48);
  const Tensor dw = tensor({6, 8}, before), dbias = zeros({6});
  kernels().linear_forward(x, *w, tensor({6}, random(6)), y);
  kernels().linear_backward(y, x, *w, x, Into::kOverwrite, {dw, dbias});
  expect_near(dw, before, 0, "dw");
}

TEST_P(Linear, UsesChangedValuesAfterRefresh) {
  const Tensor x = tensor({1, 2}, {1, 2}), y = garbage({1, 1});
  const Tensor values = tensor({1, 2}, {3, 4});
  const auto w = kernels().make_weight(values, WeightUse::kTraining);
  const std::vector<float> changed{5, 6};
  copy_in(values, changed.data());
  w->refresh();
  kernels().linear_forward(x, *w, zeros({1}), y);
  expect_near(y, {17}, 0, "y");
}

TEST_P(Linear, RepeatsBitForBit) {
  const Tensor x = tensor({300, 65}, random(300 * 65)), y = garbage({300, 70});
  const auto w = weight({70, 65}, random(70 * 65));
  const Tensor bias = tensor({70}, random(70)), dy = tensor({300, 70}, random(300 * 70));
  std::vector<float> first_y, first_dw;
  for (int round = 0; round < 5; ++round) {
    const Tensor dw = zeros({70, 65});
    kernels().linear_forward(x, *w, bias, y);
    kernels().linear_backward(dy, x, *w, {}, Into::kOverwrite, {dw, {}});
    if (round == 0) first_y = floats(y), first_dw = floats(dw);
    EXPECT_EQ(floats(y), first_y);
    EXPECT_EQ(floats(dw), first_dw);
  }
}

TEST_P(Linear, ConvertsByCopying) {
  const Vector x = random(1000);
  const Tensor y = garbage({1000});
  kernels().convert(tensor({1000}, x), y);
  EXPECT_EQ(values(y), x);
}

TEST_P(Linear, WithActivationAgrees) {
  const int64_t tokens = 6, inputs = 9, outputs = 19;
  for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu,
                                Activation::kTanh, Activation::kSilu}) {
    const Vector x = random(tokens * inputs), w = random(outputs * inputs, 0.7);
    const Vector bias = random(outputs), dy = random(tokens * outputs);
    const auto f = [&](const Vector& a, const Vector& b, const Vector& c) {
      return reference::activation(kind, reference::linear(a, b, c));
    };
    const Tensor xt = tensor({tokens, inputs}, x), pre = garbage({tokens, outputs});
    const Tensor y = garbage({tokens, outputs});
    const auto wt = weight({outputs, inputs}, w);
    kernels().linear_activation_forward(xt, *wt, tensor({outputs}, bias), kind, pre, y);
    expect_near(pre, reference::linear(x, w, bias), 1e-5, "pre");
    expect_near(y, f(x, w, bias), 1e-5, "y");
    const Tensor again = garbage({tokens, outputs}), kept = garbage({tokens, outputs});
    kernels().activation_forward(pre, kind, again);
    EXPECT_EQ(values(again), values(y));
    const Tensor alone = tensor({tokens, outputs}, values(pre));
    kernels().activation_forward(alone, kind, alone, kept);
    EXPECT_EQ(values(alone), values(y));
    EXPECT_EQ(values(kept), values(pre));

    const Tensor dx = garbage({tokens, inputs}), dw = zeros({outputs, inputs});
    const Tensor dyt = tensor({tokens, outputs}, dy), dbias = zeros({outputs});
    kernels().activation_backward(pre, kind, dyt);
    kernels().linear_backward(dyt, xt, *wt, dx, Into::kOverwrite, {dw, dbias});
    const Vector z = reference::linear(x, w, bias);
    expect_near(
        dyt,
        numeric_gradient([&](const Vector& a) { return reference::activation(kind, a); }, z, dy),
        2e-5, "dpre");
    expect_near(dx, numeric_gradient([&](const Vector& a) { return f(a, w, bias); }, x, dy), 2e-5,
                "dx");
    expect_near(dw, numeric_gradient([&](const Vector& a) { return f(x, a, bias); }, w, dy), 2e-5,
                "dw");
    expect_near(dbias, numeric_gradient([&](const Vector& a) { return f(x, w, a); }, bias, dy),
                2e-5, "dbias");
  }
}

TEST_P(Linear, ActivationsAreRightFarFromZero) {
  const Vector x{-1e30, -100, -20, -6, -5.5, -4, -1e-20, 0, 1e-20, 4, 5.5, 6, 20, 100};
  const auto count = static_cast<int64_t>(x.size());
  for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu,
                                Activation::kTanh, Activation::kSilu}) {
    const Tensor pre = garbage({count, 1}), y = garbage({count, 1});
    const auto one = weight({1, 1}, {1});
    const Tensor xt = tensor({count, 1}, x);
    kernels().linear_activation_forward(xt, *one, zeros({1}), kind, pre, y);
    const Tensor dy = tensor({count, 1}, Vector(x.size(), 1.0));
    kernels().activation_backward(pre, kind, dy);
    kernels().linear_backward(dy, xt, *one, {}, Into::kOverwrite, {});
    const Vector got = values(y), slope = values(dy);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = reference::activation(kind, x[i]);
      EXPECT_LE(std::abs(got[i] - expected), 1e-6 * (1 + std::abs(expected))) << x[i];
      if (std::abs(x[i]) < 10) continue;
      const bool passes = x[i] > 0 && kind != Activation::kTanh;
      EXPECT_NEAR(slope[i], passes ? 1 : 0, 1e-6) << x[i];
    }
  }
}

BERTH_INSTANTIATE_KERNELS(Linear);
BERTH_INSTANTIATE_KERNELS(Bf16Linear);

// An adapter adds scale * x a^T b^T to columns [kColumn, kColumn + N) of y [T,W]. x is [T,K], a
// [R,K] and b [N,R].
class LowRank : public KernelsTest {
 protected:
  static constexpr float kScale = 2;
  static constexpr int64_t kTokens = 37, kInputs = 24, kOutputs = 20, kWide = 70, kColumn = 40;

  void prepare(int64_t rank) {
    rank_ = rank;
    x_ = random(kTokens * kInputs);
    a_ = random(rank * kInputs);
    b_ = random(kOutputs * rank);
    adapter_ = {.a = tensor({rank, kInputs}, a_),
                .b = tensor({kOutputs, rank}, b_),
                .scale = kScale,
                .column = kColumn};
    down_ = garbage({kTokens, rank});
  }
  Tensor forward(const Vector& y) {
    const Tensor result = tensor({kTokens, kWide}, y);
    kernels().low_rank_forward(tensor({kTokens, kInputs}, x_), adapter_, down_, result);
    return result;
  }
  // The adapted columns of each row of y [T,W].
  static Vector columns_of(const Vector& y) {
    Vector part;
    for (int64_t t = 0; t < kTokens; ++t) {
      const auto begin = y.begin() + t * kWide + kColumn;
      part.insert(part.end(), begin, begin + kOutputs);
    }
    return part;
  }

  int64_t rank_ = 0;
  Vector x_, a_, b_;
  LowRankFactors adapter_{};
  Tensor down_;
};

TEST_P(LowRank, AddsOnlyToItsColumns) {
  for (const int64_t rank : {1, 4, 8}) {
    prepare(rank);
    const Vector before = random(kTokens * kWide);
    Vector expected = before;
    const Vector added = reference::low_rank(x_, a_, b_, rank, kScale);
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t n = 0; n < kOutputs; ++n) {
        expected[static_cast<size_t>(t * kWide + kColumn + n)] +=
            added[static_cast<size_t>(t * kOutputs + n)];
      }
    }
    expect_near(forward(before), expected, 1e-5, "y");
  }
}

TEST_P(LowRank, GradientsAgreeWithFiniteDifferences) {
  for (const int64_t rank : {1, 4}) {
    prepare(rank);
    forward(random(kTokens * kWide));
    const Vector dy = random(kTokens * kWide), cotangent = columns_of(dy);
    const Vector dx_before = random(kTokens * kInputs), da_before = random(rank * kInputs);
    const Vector db_before = random(kOutputs * rank);
    const Tensor dx = tensor({kTokens, kInputs}, dx_before),
                 da = tensor({rank, kInputs}, da_before);
    const Tensor db = tensor({kOutputs, rank}, db_before);
    kernels().low_rank_backward(
        tensor({kTokens, kWide}, dy), tensor({kTokens, kInputs}, x_), down_, adapter_,
        {.ddown = garbage({kTokens, rank}), .dx = dx, .into_dx = Into::kAdd, .da = da, .db = db});
    const auto expect_added = [&](Tensor actual, const Vector& before, const Vector& at,
                                  const std::function<Vector(const Vector&)>& f, const char* what) {
      Vector expected = reference::numeric_gradient(f, at, cotangent);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += before[i];
      expect_near(actual, expected, 1e-5, what);
    };
    expect_added(
        dx, dx_before, x_,
        [&](const Vector& x) { return reference::low_rank(x, a_, b_, rank, kScale); }, "dx");
    expect_added(
        da, da_before, a_,
        [&](const Vector& a) { return reference::low_rank(x_, a, b_, rank, kScale); }, "da");
    expect_added(
        db, db_before, b_,
        [&](const Vector& b) { return reference::low_rank(x_, a_, b, rank, kScale); }, "db");
  }
}

TEST_P(LowRank, TheGradientMayOverwriteTheInput) {
  prepare(4);
  forward(random(kTokens * kWide));
  const Vector dy = random(kTokens * kWide);
  const Tensor apart = garbage({kTokens, kInputs}), x = tensor({kTokens, kInputs}, x_);
  const Tensor da = zeros({4, kInputs}), da_in_place = zeros({4, kInputs});
  for (const bool in_place : {false, true}) {
    kernels().low_rank_backward(tensor({kTokens, kWide}, dy), x, down_, adapter_,
                                {.ddown = garbage({kTokens, 4}),
                                 .dx = in_place ? x : apart,
                                 .da = in_place ? da_in_place : da});
  }
  EXPECT_EQ(floats(x), floats(apart));
  EXPECT_EQ(floats(da_in_place), floats(da));
}

BERTH_INSTANTIATE_KERNELS(LowRank);

}  // namespace
}  // namespace berth
