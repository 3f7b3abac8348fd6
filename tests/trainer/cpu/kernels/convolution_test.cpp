#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::ConvolutionShape;
using reference::numeric_gradient;
using reference::Vector;

// A convolution over the tokens of a sequence: unfolded windows, a linear layer, dropout and
// activation.
class Convolution : public KernelsTest {
 protected:
  struct Parts {
    Vector x, w, bias;
  };
  struct Forward {
    Tensor cu_seqlens, windows, pre, y;
    std::unique_ptr<Weight> w;
  };

  Parts random_parts(const ConvolutionShape& shape) {
    return {random(shape.tokens() * shape.inputs),
            random(shape.outputs * shape.inputs * shape.size, 0.5), random(shape.outputs)};
  }
  Forward forward(const ConvolutionShape& shape, const Parts& parts) {
    begin(shape.step, shape.first_token);
    const int64_t tokens = shape.tokens(), wide = shape.inputs * shape.size;
    Forward made{ids(shape.cu_seqlens), garbage({tokens, wide}), garbage({tokens, shape.outputs}),
                 garbage({tokens, shape.outputs}), weight({shape.outputs, wide}, parts.w)};
    kernels().unfold_windows(tensor({tokens, shape.inputs}, parts.x), made.cu_seqlens,
                             made.windows);
    kernels().linear_forward(made.windows, *made.w, tensor({shape.outputs}, parts.bias), made.pre);
    kernels().dropout(made.pre, shape.dropout, *state_, made.pre);
    kernels().activation_forward(made.pre, shape.kind, made.y);
    return made;
  }

  void check(const ConvolutionShape& shape) {
    const Parts parts = random_parts(shape);
    const Forward made = forward(shape, parts);
    expect_near(made.y, reference::convolution(shape, parts.x, parts.w, parts.bias), 1e-5, "y");

    const int64_t tokens = shape.tokens(), wide = shape.inputs * shape.size;
    const Vector dy = random(tokens * shape.outputs), old_dw = random(shape.outputs * wide),
                 old_dbias = random(shape.outputs);
    const Tensor dx = garbage({tokens, shape.inputs}), dw = tensor({shape.outputs, wide}, old_dw),
                 dbias = tensor({shape.outputs}, old_dbias);
    const Tensor d = tensor({tokens, shape.outputs}, dy), dwindows = garbage({tokens, wide});
    kernels().activation_backward(made.pre, shape.kind, d);
    kernels().dropout(d, shape.dropout, *state_, d);
    kernels().linear_backward(d, made.windows, *made.w, dwindows, Into::kOverwrite, {dw, dbias});
    kernels().fold_windows(dwindows, made.cu_seqlens, dx);
    const auto expect_gradient = [&](Tensor actual, Vector Parts::*part, const Vector& before,
                                     const char* name) {
      Vector expected = numeric_gradient(
          [&](const Vector& moved) {
            Parts other = parts;
            other.*part = moved;
            return reference::convolution(shape, other.x, other.w, other.bias);
          },
          parts.*part, dy);
      for (size_t i = 0; i < before.size(); ++i) expected[i] += before[i];
      expect_near(actual, expected, 2e-5, name);
    };
    expect_gradient(dx, &Parts::x, {}, "dx");
    expect_gradient(dw, &Parts::w, old_dw, "dw");
    expect_gradient(dbias, &Parts::bias, old_dbias, "dbias");
  }
};

TEST_P(Convolution, AgreesWithItsDefinition) {
  check({{0, 5}, 4, 3, 3, Activation::kGelu, {}, {}});
  check({{0, 3, 4, 11}, 8, 8, 3, Activation::kTanh, {}, {}});
  check({{0, 6, 9}, 3, 5, 5, Activation::kGeluTanh, {}, {}});
}

TEST_P(Convolution, ReachesBeyondBothEndsOfShortSequences) {
  check({{0, 1, 2, 4}, 3, 2, 7, Activation::kTanh, {}, {}});
}

TEST_P(Convolution, OfOneTokenIsALinearLayer) {
  check({{0, 4, 6}, 5, 3, 1, Activation::kGelu, {}, {}});
}

TEST_P(Convolution, SkipsEmptySequences) {
  check({{0, 0, 4, 4, 6, 6}, 3, 4, 3, Activation::kGelu, {}, {}});
}

// Dropout comes before the activation, as in DeBERTa.
TEST_P(Convolution, AgreesUnderDropout) {
  check({{0, 6, 9},
         4,
         8,
         3,
         Activation::kGelu,
         {.p = 0.3f, .site = 12},
         {.seed = 3, .step = 4},
         1000});
}

TEST_P(Convolution, OfManyRowsAgreesInEachThread) {
  const ConvolutionShape shape{{0, 300, 301, 600}, 40, 9, 3, Activation::kGelu, {}, {}};
  const Parts parts = random_parts(shape);
  expect_near(forward(shape, parts).y, reference::convolution(shape, parts.x, parts.w, parts.bias),
              1e-5, "y");
}

TEST_P(Convolution, OfASequenceDoesNotDependOnItsNeighbours) {
  const Dropout dropout{.p = 0.2f, .site = 1};
  const ConvolutionShape both{{0, 4, 9}, 6, 6, 3, Activation::kGelu, dropout, {.seed = 1}, 50};
  const ConvolutionShape second{{0, 5}, 6, 6, 3, Activation::kGelu, dropout, {.seed = 1}, 54};
  Parts parts = random_parts(both);
  const std::vector<float> y = floats(forward(both, parts).y);
  parts.x.erase(parts.x.begin(), parts.x.begin() + 4 * 6);
  EXPECT_EQ(floats(forward(second, parts).y), std::vector<float>(y.begin() + 4 * 6, y.end()));
}

BERTH_INSTANTIATE_KERNELS(Convolution);

}  // namespace
}  // namespace berth
