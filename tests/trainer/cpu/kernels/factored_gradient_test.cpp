// Updates from gradients that are kept as the factors of a product.

#include <limits>

#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

struct FactoredShape {
  int64_t tokens, rows, columns;
};

// These shapes cover less than a tile, partial tiles at every edge, several tiles, and several
// slabs of depth.
const std::vector<FactoredShape> kFactoredShapes = {{1, 5, 3},    {7, 33, 65},     {64, 96, 32},
                                                    {65, 97, 33}, {130, 200, 800}, {333, 40, 48}};

class Factored : public KernelsTest {
 protected:
  // Factors that a test may write to.
  struct KeptFactors {
    Tensor dy, x;
    FactoredGradient read_only() const { return {dy, x}; }
  };
  // Two random factors in the type in which gradients are kept.
  KeptFactors factors(const FactoredShape& shape, double scale = 1) {
    const KeptFactors g{kept({shape.tokens, shape.rows}), kept({shape.tokens, shape.columns})};
    kernels().convert(tensor({shape.tokens, shape.rows}, random(g.dy.elements(), scale)), g.dy);
    kernels().convert(tensor({shape.tokens, shape.columns}, random(g.x.elements())), g.x);
    return g;
  }
  Tensor single(Tensor x) {
    const Tensor y = zeros({x.rows(), x.columns()});
    kernels().convert(x, y);
    return y;
  }
  // The gradient that the factors stand for, computed by linear_backward.
  Tensor product(const KeptFactors& g) {
    const Tensor dw = zeros({g.dy.columns(), g.x.columns()});
    const auto w = weight({dw.rows(), dw.columns()}, Vector(static_cast<size_t>(dw.elements())));
    kernels().linear_backward(single(g.dy), single(g.x), *w, {}, Into::kOverwrite, {dw, {}});
    return dw;
  }
  void add_squares_of_products(std::span<const KeptFactors> all) {
    std::vector<Gradient> gradients;
    for (const KeptFactors& g : all) gradients.push_back({.factors = g.read_only()});
    kernels().add_squares(gradients, *state_);
  }
  double norm_of(const std::function<void()>& add) {
    begin({.seed = 1, .step = 3, .learning_rate = 0.01f});
    count_examples(2);
    add();
    state_->finish_gradients(1);
    return state_->outcome().grad_norm;
  }
  void check_norms();
  void check_updates();
  static std::string name_of(const FactoredShape& shape) {
    return std::to_string(shape.tokens) + " tokens of " + std::to_string(shape.rows) + " x " +
           std::to_string(shape.columns);
  }
};

void Factored::check_norms() {
  std::vector<KeptFactors> all;
  const Tensor alone = tensor({3}, {1, 2, 3});
  double squares = 14;
  for (const FactoredShape& shape : kFactoredShapes) {
    SCOPED_TRACE(name_of(shape));
    all.push_back(factors(shape));
    const Tensor dw = product(all.back());
    const double one = norm_of([&] { add_squares(dw); });
    const double other = norm_of([&] { add_squares_of_products({&all.back(), 1}); });
    EXPECT_GT(one, 0);
    EXPECT_NEAR(other / one, 1, 2e-6);
    squares += 4 * one * one;  // of the sum over two examples
  }
  const double together = norm_of([&] {
    add_squares(alone);
    add_squares_of_products(all);
  });
  EXPECT_NEAR(together / (std::sqrt(squares) / 2), 1, 2e-6);
}

// The gradients of two tokens cancel out. Rounding alone could make the squared norm negative, and
// its root NaN.
TEST_P(Factored, SquaredNormIsNotNegative) {
  const KeptFactors g{kept({2, 40}), kept({2, 24})};
  Vector dy = random(40), x = random(24);
  for (Vector* each : {&dy, &x}) each->insert(each->end(), each->begin(), each->end());
  for (size_t i = 40; i < dy.size(); ++i) dy[i] = -dy[i];
  kernels().convert(tensor({2, 40}, dy), g.dy);
  kernels().convert(tensor({2, 24}, x), g.x);
  const double norm = norm_of([&] { add_squares_of_products({&g, 1}); });
  EXPECT_GE(norm, 0);
  EXPECT_LT(norm, 1e-2);
}

TEST_P(Factored, NonFiniteGradientsMakeTheNormNonFinite) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const KeptFactors g = factors({70, 40, 24});
    Vector dy = random(70 * 40);
    dy[69 * 40 + 7] = bad;
    kernels().convert(tensor({70, 40}, dy), g.dy);
    const double norm = norm_of([&] { add_squares_of_products({&g, 1}); });
    EXPECT_FALSE(std::isfinite(norm));
  }
}

// Compares updates from factors with updates from their products. One call updates all matrices and
// the parameters that lie between them.
void Factored::check_updates() {
  int64_t all = 0;
  for (const FactoredShape& shape : kFactoredShapes) all += shape.rows * shape.columns + 5;
  struct Side {
    Tensor w, m, v;
  } sides[2];
  const Vector w = random(all), m = random(all, 0.1);
  Vector v = random(all, 0.1);
  for (double& each : v) each = std::abs(each);
  for (Side& side : sides) side = {tensor({all}, w), tensor({all}, m), tensor({all}, v)};

  const Tensor gradient = zeros({all});
  std::vector<KeptFactors> factors_of_all;
  std::vector<UpdateRange> updates, ranges;
  const auto range_of = [](const Side& side, int64_t begin, int64_t count, float weight_decay) {
    return UpdateRange{.w = side.w.slice(begin, count),
                       .m = side.m.slice(begin, count),
                       .v = side.v.slice(begin, count),
                       .weight_decay = weight_decay,
                       .rate_scale = 0.5f};
  };
  int64_t begin_of = 3;
  for (const FactoredShape& shape : kFactoredShapes) {
    const int64_t size = shape.rows * shape.columns;
    factors_of_all.push_back(factors(shape, 3));
    const float weight_decay = shape.tokens > 50 ? 0.1f : 0.0f;
    updates.push_back(range_of(sides[0], begin_of, size, weight_decay));
    updates.back().factors = factors_of_all.back().read_only();
    ranges.push_back(range_of(sides[1], begin_of, size, weight_decay));
    ranges.back().g = gradient.slice(begin_of, size);
    const std::vector<float> dw = floats(product(factors_of_all.back()));
    copy_in(gradient.slice(begin_of, size), dw.data());
    begin_of += size + 5;
  }
  begin({.seed = 1, .step = 3, .learning_rate = 0.01f});
  count_examples(2);
  add_squares_of_products(factors_of_all);
  state_->finish_gradients(1);
  kernels().adamw(updates, {}, *state_);
  kernels().adamw(ranges, {}, *state_);
  expect_near(sides[0].w, values(sides[1].w), 1e-6, "w");
  expect_near(sides[0].m, values(sides[1].m), 1e-6, "m");
  expect_near(sides[0].v, values(sides[1].v), 1e-6, "v");
  EXPECT_NE(floats(sides[0].w), std::vector<float>(w.begin(), w.end()));
}

TEST_P(Factored, NormEqualsThatOfTheProducts) { check_norms(); }
TEST_P(Factored, UpdateEqualsThatFromTheProducts) { check_updates(); }

BERTH_INSTANTIATE_KERNELS(Factored);

class Bf16Factored : public Factored {
 protected:
  void SetUp() override { set_up(Precision::kBf16); }
};

TEST_P(Bf16Factored, NormEqualsThatOfTheProducts) { check_norms(); }
TEST_P(Bf16Factored, UpdateEqualsThatFromTheProducts) { check_updates(); }

BERTH_INSTANTIATE_KERNELS(Bf16Factored);

}  // namespace
}  // namespace berth
