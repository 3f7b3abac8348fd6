#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

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
