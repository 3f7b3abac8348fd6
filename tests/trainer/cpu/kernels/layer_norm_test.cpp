#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

// Compares layer normalization with its definition. Backward uses the statistics that the kernel's
// forward computed.
class LayerNorm : public KernelsTest {
 protected:
  static constexpr float kEpsilon = 1e-12f;

  // Compares forward and backward of a random x [rows, columns] with the reference.
  void check(int64_t rows, int64_t columns) {
    const Vector x = random(rows * columns, 2), gamma = random(columns), beta = random(columns);
    const Vector dy = random(rows * columns), before = random(columns);
    const Tensor xt = tensor({rows, columns}, x), y = garbage({rows, columns});
    const NormStatistics statistics{garbage({rows}), garbage({rows})};
    const LayerNormParameters parameters{tensor({columns}, gamma), tensor({columns}, beta),
                                         kEpsilon};
    const Tensor again = garbage({rows, columns});
    kernels().layer_norm_forward(xt, parameters, y, statistics);
    const NormalizedRows normalized{xt, statistics.mean, statistics.rstd};
    kernels().layer_norm_recompute(normalized, parameters, again);
    EXPECT_EQ(floats(again), floats(y));
    const auto forward = [&](const Vector& a, const Vector& b, const Vector& c) {
      return reference::layer_norm(a, b, c, kEpsilon);
    };
    expect_near(y, forward(x, gamma, beta), 1e-5, "y");

    const Tensor dx = tensor({rows, columns}, dy);  // in place
    const Tensor dgamma = tensor({columns}, before), dbeta = tensor({columns}, before);
    kernels().layer_norm_backward(dx, normalized, parameters, dx, {dgamma, dbeta});
    using reference::numeric_gradient;
    expect_near(dx,
                numeric_gradient([&](const Vector& a) { return forward(a, gamma, beta); }, x, dy),
                2e-5, "dx");
    const auto added = [&](Vector gradient) {
      for (size_t i = 0; i < before.size(); ++i) gradient[i] += before[i];
      return gradient;
    };
    expect_near(
        dgamma,
        added(numeric_gradient([&](const Vector& a) { return forward(x, a, beta); }, gamma, dy)),
        1e-5, "dgamma");
    expect_near(
        dbeta,
        added(numeric_gradient([&](const Vector& a) { return forward(x, gamma, a); }, beta, dy)),
        1e-5, "dbeta");
  }
};

TEST_P(LayerNorm, AgreesWithItsDefinition) {
  check(1, 8);
  check(5, 16);
  check(3, 37);
  check(70, 13);
}

TEST_P(LayerNorm, OfWideRowsAgrees) {
  const int64_t rows = 67, columns = 771;
  const Vector x = random(rows * columns, 3), gamma = random(columns), beta = random(columns);
  const Tensor y = garbage({rows, columns});
  kernels().layer_norm_forward(tensor({rows, columns}, x),
                               {tensor({columns}, gamma), tensor({columns}, beta), kEpsilon}, y,
                               {garbage({rows}), garbage({rows})});
  expect_near(y, reference::layer_norm(x, gamma, beta, kEpsilon), 1e-5, "y");
}

// There are enough rows for all threads.
TEST_P(LayerNorm, AddsTheGradientsOfAllThreads) {
  constexpr int64_t kRows = 300, kColumns = 256;
  const Vector x = random(kRows * kColumns, 2), dy = random(kRows * kColumns);
  const Tensor xt = tensor({kRows, kColumns}, x), y = garbage({kRows, kColumns});
  const NormStatistics statistics{garbage({kRows}), garbage({kRows})};
  const LayerNormParameters parameters{tensor({kColumns}, Vector(kColumns, 1.0f)),
                                       tensor({kColumns}, Vector(kColumns)), kEpsilon};
  kernels().layer_norm_forward(xt, parameters, y, statistics);
  const Tensor dgamma = tensor({kColumns}, Vector(kColumns));
  const Tensor dbeta = tensor({kColumns}, Vector(kColumns));
  kernels().layer_norm_backward(tensor({kRows, kColumns}, dy),
                                {xt, statistics.mean, statistics.rstd}, parameters,
                                garbage({kRows, kColumns}), {dgamma, dbeta});
  // With gamma 1 and beta 0, y is the normalized row.
  Vector gamma(kColumns), beta(kColumns);
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const auto at = static_cast<size_t>(i), column = static_cast<size_t>(i % kColumns);
    gamma[column] += dy[at] * y.f32()[i];
    beta[column] += dy[at];
  }
  expect_near(dgamma, gamma, 1e-4, "dgamma");
  expect_near(dbeta, beta, 1e-4, "dbeta");
}

TEST_P(LayerNorm, OfNoRowsDoesNothing) {
  const Tensor none = zeros({0, 8}), gamma = zeros({8}), statistics = zeros({0});
  kernels().layer_norm_forward(none, {gamma, gamma, kEpsilon}, none, {statistics, statistics});
  kernels().layer_norm_backward(none, {none, statistics, statistics}, {gamma, gamma, kEpsilon},
                                none, {gamma, gamma});
  expect_near(gamma, Vector(8, 0.0), 0, "dgamma");
}

TEST_P(LayerNorm, SkipsNullGradients) {
  const Tensor x = tensor({4, 8}, random(32)), dy = tensor({4, 8}, random(32));
  const NormalizedRows rows{x, zeros({4}), tensor({4}, {1, 1, 1, 1})};
  const LayerNormParameters parameters{.gamma = tensor({8}, random(8)), .beta = zeros({8})};
  const Tensor dx = garbage({4, 8}), dx_alone = garbage({4, 8}), dgamma = zeros({8});
  kernels().layer_norm_backward(dy, rows, parameters, dx, {zeros({8}), zeros({8})});
  kernels().layer_norm_backward(dy, rows, parameters, dx_alone, {});
  EXPECT_EQ(floats(dx_alone), floats(dx));
  kernels().layer_norm_backward(dy, rows, parameters, {}, {dgamma, {}});
  EXPECT_NE(floats(dgamma), floats(zeros({8})));
}

// The fused end of a layer: sum = residual + dropout(x), y = layer_norm(sum).
class AddLayerNorm : public LayerNorm {
 protected:
  void check_fused(int64_t rows, int64_t columns, Dropout dropout) {
    begin(inputs_, 41);
    const Vector x = random(rows * columns), residual = random(rows * columns);
    const Vector gamma = random(columns), beta = random(columns), dy = random(rows * columns);
    const auto forward = [&](const Vector& a, const Vector& b, const Vector& c) {
      Vector sum = reference::dropout(a, columns, dropout, inputs_, 41);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
      return reference::layer_norm(sum, c, beta, kEpsilon);
    };
    const Tensor sum = tensor({rows, columns}, x);  // in place
    const Tensor y = garbage({rows, columns});
    const NormStatistics statistics{garbage({rows}), garbage({rows})};
    const LayerNormParameters parameters{tensor({columns}, gamma), tensor({columns}, beta),
                                         kEpsilon};
    kernels().add_layer_norm_forward(sum, tensor({rows, columns}, residual), dropout, *state_,
                                     parameters, {sum, y, statistics});
    expect_near(y, forward(x, residual, gamma), 2e-5, "y");

    const Tensor dx = garbage({rows, columns}), dresidual = tensor({rows, columns}, dy);
    const Tensor dgamma = zeros({columns}), dbeta = zeros({columns});
    const NormalizedRows normalized{sum, statistics.mean, statistics.rstd};
    kernels().add_layer_norm_backward(dresidual, normalized, dropout, *state_, parameters,
                                      {dx, dresidual, {dgamma, dbeta}});
    using reference::numeric_gradient;
    expect_near(
        dx, numeric_gradient([&](const Vector& a) { return forward(a, residual, gamma); }, x, dy),
        5e-5, "dx");
    expect_near(
        dresidual,
        numeric_gradient([&](const Vector& a) { return forward(x, a, gamma); }, residual, dy), 5e-5,
        "dresidual");
    expect_near(
        dgamma,
        numeric_gradient([&](const Vector& a) { return forward(x, residual, a); }, gamma, dy), 2e-5,
        "dgamma");

    // A call without the other gradients computes the same dx.
    const Tensor dx_alone = garbage({rows, columns});
    kernels().add_layer_norm_backward(tensor({rows, columns}, dy), normalized, dropout, *state_,
                                      parameters, {dx_alone, {}, {}});
    EXPECT_EQ(floats(dx_alone), floats(dx));
  }
};

TEST_P(AddLayerNorm, AgreesWithItsDefinition) {
  check_fused(1, 8, {});
  check_fused(9, 37, {});
}

TEST_P(AddLayerNorm, AgreesWithItsDefinitionUnderDropout) {
  check_fused(1, 8, {.p = 0.1f, .site = 3});
  check_fused(9, 37, {.p = 0.5f, .site = 4});
  check_fused(3, 140, {.p = 0.1f, .site = 5});
}

// Takes more rows than a thread takes at a time.
TEST_P(AddLayerNorm, OfSomeTokensHasTheDropoutOfAllTokens) {
  constexpr int64_t kTokens = 120, kColumns = 140;
  std::vector<int32_t> tokens;
  for (int32_t token = 1; token < kTokens; token += 1 + token % 3) tokens.push_back(token);
  const auto rows = static_cast<int64_t>(tokens.size());
  const Tensor x = tensor({kTokens, kColumns}, random(kTokens * kColumns));
  const Tensor dy = tensor({kTokens, kColumns}, random(kTokens * kColumns));
  const Tensor gamma = tensor({kColumns}, random(kColumns));
  const auto picked = [&](Tensor all) {
    const Tensor some = garbage({rows, kColumns});
    kernels().gather_rows(all, ids(tokens), some);
    return some;
  };
  const auto run = [&](Tensor in, Tensor gradient, Tensor of) {
    const int64_t count = in.rows();
    const Dropout dropout{.p = 0.3f, .site = 3, .tokens = of};
    const Tensor sum = garbage({count, kColumns}), y = garbage({count, kColumns});
    const Tensor dx = garbage({count, kColumns}), dresidual = garbage({count, kColumns});
    const NormStatistics statistics{garbage({count}), garbage({count})};
    const LayerNormParameters parameters{gamma, gamma, kEpsilon};
    kernels().add_layer_norm_forward(in, in, dropout, *state_, parameters, {sum, y, statistics});
    kernels().add_layer_norm_backward(gradient, {sum, statistics.mean, statistics.rstd}, dropout,
                                      *state_, parameters, {dx, dresidual, {}});
    return std::pair{y, dx};
  };
  begin(inputs_, 41);
  const auto [y, dx] = run(x, dy, {});
  const auto [some_y, some_dx] = run(picked(x), picked(dy), ids(tokens));
  EXPECT_EQ(floats(some_y), floats(picked(y)));
  EXPECT_EQ(floats(some_dx), floats(picked(dx)));
}

BERTH_INSTANTIATE_KERNELS(LayerNorm);
BERTH_INSTANTIATE_KERNELS(AddLayerNorm);

}  // namespace
}  // namespace berth
