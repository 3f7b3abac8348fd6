#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

// activation(a) * b for rows of a beside b.
Vector gated(Activation activation, const Vector& x, size_t width) {
  Vector y;
  for (size_t row = 0; row < x.size(); row += 2 * width) {
    for (size_t c = 0; c < width; ++c) {
      y.push_back(reference::activation(activation, x[row + c]) * x[row + width + c]);
    }
  }
  return y;
}

class Gated : public KernelsTest {};

// The last width takes more than one piece of a row.
TEST_P(Gated, ActivationAgreesWithItsDefinition) {
  for (const int64_t width : {1, 5, 1030}) {
    const int64_t rows = width > 1000 ? 2 : 7;
    const Vector x = random(rows * 2 * width);
    const Tensor xt = tensor({rows, 2 * width}, x), kept = garbage({rows, 2 * width});
    const Tensor y = garbage({rows, width}), again = garbage({rows, width});
    kernels().gated_activation_forward(xt, Activation::kGelu, y, kept);
    expect_near(y, gated(Activation::kGelu, x, static_cast<size_t>(width)), 1e-5, "y");
    kernels().gated_activation_forward(kept, Activation::kGelu, again);
    EXPECT_EQ(values(again), values(y));
  }
}

TEST_P(Gated, GradientAgreesWithFiniteDifferences) {
  const int64_t rows = 4, width = 9;
  for (const Activation kind : {Activation::kGelu, Activation::kTanh, Activation::kSilu}) {
    const Vector x = random(rows * 2 * width), dy = random(rows * width);
    const Tensor dx = garbage({rows, 2 * width});
    kernels().gated_activation_backward(tensor({rows, 2 * width}, x), kind,
                                        tensor({rows, width}, dy), dx);
    const auto f = [&](const Vector& moved) {
      return gated(kind, moved, static_cast<size_t>(width));
    };
    expect_near(dx, reference::numeric_gradient(f, x, dy), 2e-5, "dx");
  }
}

TEST_P(Gated, ActivationInBf16IsThatOfWhatIsKept) {
  set_up(Precision::kBf16);
  if (IsSkipped()) return;
  const int64_t rows = 3, width = 21;
  const Tensor x = tensor({rows, 2 * width}, random(rows * 2 * width));
  const Tensor bf16 = kept({rows, 2 * width}), y = garbage({rows, width});
  kernels().gated_activation_forward(x, Activation::kGelu, y, bf16);
  const Tensor rounded = garbage({rows, 2 * width});
  kernels().convert(bf16, rounded);
  const Tensor expected = garbage({rows, width});
  kernels().gated_activation_forward(rounded, Activation::kGelu, expected);
  EXPECT_EQ(values(y), values(expected));
  const Tensor dy = tensor({rows, width}, random(rows * width));
  const Tensor dx = garbage({rows, 2 * width}), expected_dx = garbage({rows, 2 * width});
  kernels().gated_activation_backward(bf16, Activation::kGelu, dy, dx);
  kernels().gated_activation_backward(rounded, Activation::kGelu, dy, expected_dx);
  EXPECT_EQ(values(dx), values(expected_dx));
}

BERTH_INSTANTIATE_KERNELS(Gated);

}  // namespace
}  // namespace berth
