// Updates from gradients that are kept as the factors of a product.

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

class AdamW : public KernelsTest {
 protected:
  void update(const UpdateRange& range) { kernels().adamw({&range, 1}, {}, *state_); }

  // One update with Kingma and Ba's moments and decoupled weight decay, in the order of operations
  // of torch.optim.AdamW.
  static void reference_step(double& w, double g, double& m, double& v, double t, double rate,
                             double decay) {
    const AdamWOptions options;
    const double beta1 = options.beta1, beta2 = options.beta2;
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    w -= rate * decay * w;
    w -= rate * (m / (1 - std::pow(beta1, t))) /
         (std::sqrt(v / (1 - std::pow(beta2, t))) + options.epsilon);
  }
};

TEST_P(AdamW, AgreesWithItsDefinitionOverSeveralSteps) {
  const int64_t n = 1003;
  Vector w = random(n), m(1003), v(1003);
  const Tensor wt = tensor({n}, w), gt = zeros({n}), mt = zeros({n}), vt = zeros({n});
  struct Part {
    int64_t begin, end;
    float weight_decay, rate_scale;
  };
  const Part parts[] = {{0, 500, 0.01f, 1}, {500, 700, 0, 0.5f}, {710, n, 0.1f, 1}};
  std::vector<UpdateRange> ranges;
  for (const auto& [begin, end, weight_decay, rate_scale] : parts) {
    const auto of = [&, from = begin, count = end - begin](Tensor x) {
      return x.slice(from, count);
    };
    ranges.push_back({.w = of(wt),
                      .g = of(gt),
                      .m = of(mt),
                      .v = of(vt),
                      .weight_decay = weight_decay,
                      .rate_scale = rate_scale});
  }
  for (uint64_t step = 0; step < 5; ++step) {
    begin({.seed = 1, .step = step, .learning_rate = 0.01f});
    Vector g = random(n);
    for (size_t i = 100; i < 300; ++i) g[i] = 0;  // some rows see no gradient
    if (step > 2) std::fill(g.begin() + 750, g.end(), 0.0);
    std::vector<float> single(g.begin(), g.end());
    copy_in(gt, single.data());
    count_examples(4);
    add_squares(gt);
    state_->finish_gradients(0);
    kernels().adamw(ranges, {}, *state_);
    for (const Part& part : parts) {
      for (auto i = static_cast<size_t>(part.begin); i < static_cast<size_t>(part.end); ++i) {
        reference_step(w[i], g[i] / 4, m[i], v[i], static_cast<double>(step + 1),
                       static_cast<double>(0.01f * part.rate_scale),
                       static_cast<double>(part.weight_decay));
        g[i] = 0;
      }
    }
    expect_near(gt, g, 0, "g");  // 0 inside the ranges, unchanged outside
    expect_near(wt, w, 2e-6, "w");
    expect_near(mt, m, 1e-6, "m");
    expect_near(vt, v, 1e-6, "v");
  }
}

// Ranks that share the optimizer divide a parameter anywhere. So an element must not get other bits
// near the end of a range.
TEST_P(AdamW, DoesNotDependOnWhereARangeEnds) {
  constexpr int64_t n = 257;
  const Vector w = random(n), g = random(n, 1e-2), m = random(n, 1e-2);
  Vector v = random(n, 1e-4);
  for (double& each : v) each = std::abs(each);
  const auto updated = [&](int64_t first) {
    const Tensor wt = tensor({n}, w), gt = tensor({n}, g), mt = tensor({n}, m), vt = tensor({n}, v);
    begin({.seed = 1, .step = 7, .learning_rate = 0.01f});
    count_examples(3);
    add_squares(gt);
    state_->finish_gradients(0);
    for (const auto& [from, count] : {std::pair{int64_t{0}, first}, {first, n - first}}) {
      if (count == 0) continue;
      update({.w = wt.slice(from, count),
              .g = gt.slice(from, count),
              .m = mt.slice(from, count),
              .v = vt.slice(from, count),
              .weight_decay = 0.1f});
    }
    return std::array{floats(wt), floats(mt), floats(vt)};
  };
  const auto whole = updated(n);
  for (int64_t first = 1; first < n; ++first) ASSERT_EQ(updated(first), whole) << first;
}

// An update that reads only the marked rows of a table gives the same bits as an update of all
// rows.
TEST_P(AdamW, OfMarkedRowsEqualsThatOfAllRows) {
  constexpr int64_t kRows = 200, kColumns = 193, n = kRows * kColumns;
  const Vector values = random(n);
  const auto table = [&] {
    return UpdateRange{.w = tensor({n}, values),
                       .g = zeros({n}),
                       .m = zeros({n}),
                       .v = zeros({n}),
                       .weight_decay = 0.1f};
  };
  const UpdateRange all = table();
  UpdateRange marked = table();
  marked.marks = ids(std::vector<int32_t>(kRows, kHasGradient | kHasMoments));
  int32_t* const marks = marked.marks.i32();
  for (uint64_t step = 0; step < 4; ++step) {
    for (const int64_t row : {int64_t{0}, int64_t{17}, static_cast<int64_t>(50 + step)}) {
      const Vector g = random(kColumns);
      const std::vector<float> single(g.begin(), g.end());
      for (const UpdateRange& side : {all, marked}) {
        copy_in(side.g.slice(row * kColumns, kColumns), single.data());
      }
      marks[row] |= kHasGradient;
    }
    std::vector<double> norms;
    for (const Tensor& which : {ids(std::vector<int32_t>(kRows, kHasGradient)), marked.marks}) {
      begin({.seed = 1, .step = step, .learning_rate = 0.01f});
      count_examples(1);
      const Gradient gradient{.values = marked.g, .marks = which};
      kernels().add_squares({&gradient, 1}, *state_);
      state_->finish_gradients(0);
      norms.push_back(state_->outcome().grad_norm);
    }
    EXPECT_GT(norms[0], 0);
    EXPECT_EQ(norms[1], norms[0]);
    for (const UpdateRange& side : {all, marked}) kernels().adamw({&side, 1}, {}, *state_);
    EXPECT_EQ(floats(marked.w), floats(all.w));
    EXPECT_EQ(floats(marked.g), floats(all.g));
    EXPECT_EQ(floats(marked.m), floats(all.m));
    EXPECT_EQ(floats(marked.v), floats(all.v));
    for (int64_t row = 0; row < kRows; ++row) {
      const bool had =
          row == 0 || row == 17 || (row >= 50 && row <= 50 + static_cast<int64_t>(step));
      EXPECT_EQ(marks[row], had ? kHasMoments : 0) << row;
    }
  }
}

TEST_P(AdamW, ClipsTheGlobalNorm) {
  begin({.step = 0, .learning_rate = 0.1f});
  const Tensor a = tensor({2}, {6, 0}), b = tensor({1}, {8});
  count_examples(2);
  add_squares(a);
  add_squares(b);
  state_->finish_gradients(1.0f);
  EXPECT_NEAR(state_->outcome().grad_norm, 5, 1e-9);  // 10 divided by 2 examples
  const Tensor w = zeros({2}), m = zeros({2}), v = zeros({2});
  update({.w = w, .g = a, .m = m, .v = v});
  expect_near(m, {0.1 * 0.6, 0}, 1e-6, "m");
}

TEST_P(AdamW, DoesNotScaleASmallNorm) {
  begin({.step = 0, .learning_rate = 0.1f});
  const Tensor g = tensor({2}, {0.3, 0.4});
  count_examples(1);
  add_squares(g);
  state_->finish_gradients(1.0f);
  const Tensor w = zeros({2}), m = zeros({2}), v = zeros({2});
  update({.w = w, .g = g, .m = m, .v = v});
  expect_near(m, {0.03, 0.04}, 1e-6, "m");
}

TEST_P(AdamW, WithoutExamplesOnlyDecays) {
  begin({.step = 0, .learning_rate = 0.1f});
  const Tensor g = zeros({3}), w = tensor({3}, {1, 2, 3}), m = zeros({3}), v = zeros({3});
  add_squares(g);
  state_->finish_gradients(1.0f);
  update({.w = w, .g = g, .m = m, .v = v, .weight_decay = 0.5f});
  expect_near(w, {0.95, 1.9, 2.85}, 1e-6, "w");
}

TEST_P(AdamW, SumsSquaresWithoutLosingSmallOnes) {
  const int64_t n = 100003;
  Vector x(static_cast<size_t>(n), 1e-3);
  x[0] = 1e4;
  count_examples(1);
  add_squares(tensor({n}, x));
  state_->finish_gradients(0);
  EXPECT_NEAR(state_->outcome().grad_norm, std::sqrt(1e8 + 100002e-6), 1e-6);
}

// A moment without new gradients decays. It must become 0 and not a denormal number, because
// arithmetic on denormal numbers is slow.
TEST_P(AdamW, LetsUnfedMomentsReachZero) {
  const Tensor w = zeros({8}), g = zeros({8}), v = zeros({8});
  const Tensor m = tensor({8}, Vector(8, 1.2e-38));
  count_examples(1);
  state_->finish_gradients(0);
  for (int i = 0; i < 3; ++i) update({.w = w, .g = g, .m = m, .v = v});
  expect_near(m, Vector(8, 0.0), 0, "m");
}

BERTH_INSTANTIATE_KERNELS(AdamW);

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

class Lamb : public KernelsTest {};

// LAMB: algorithm 2 of You et al. 2019, with the bias correction of the paper's appendix.
struct Part {
  int64_t begin, end;
  float weight_decay = 0, rate_scale = 1;
  bool adapts = true;
};

struct Reference {
  Vector w, m, v;

  void step(const Vector& g, double t, double rate, const Part& range) {
    const AdamWOptions options;
    const double beta1 = options.beta1, beta2 = options.beta2;
    Vector u(w.size());
    double weight_squares = 0, step_squares = 0;
    for (auto i = static_cast<size_t>(range.begin); i < static_cast<size_t>(range.end); ++i) {
      m[i] = beta1 * m[i] + (1 - beta1) * g[i];
      v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
      u[i] = m[i] / (1 - std::pow(beta1, t)) /
                 (std::sqrt(v[i] / (1 - std::pow(beta2, t))) + options.epsilon) +
             range.weight_decay * w[i];
      weight_squares += w[i] * w[i];
      step_squares += u[i] * u[i];
    }
    const bool adapts = range.adapts && weight_squares > 0 && step_squares > 0;
    const double ratio = adapts ? std::sqrt(weight_squares / step_squares) : 1;
    for (auto i = static_cast<size_t>(range.begin); i < static_cast<size_t>(range.end); ++i) {
      w[i] -= rate * range.rate_scale * ratio * u[i];
    }
  }
};

TEST_P(Lamb, AgreesWithItsDefinitionOverSeveralSteps) {
  const int64_t n = 40007;
  const auto size = static_cast<size_t>(n);
  Reference reference{random(n), Vector(size), Vector(size)};
  std::fill_n(reference.w.begin() + 600, 100, 0.0);  // a bias with its initial values
  const Tensor wt = tensor({n}, reference.w), gt = zeros({n}), mt = zeros({n}), vt = zeros({n});
  const std::vector<Part> parts{{.begin = 0, .end = 500, .weight_decay = 0.01f},
                                {.begin = 500, .end = 600, .adapts = false},
                                {.begin = 600, .end = 700},
                                {.begin = 710, .end = n, .weight_decay = 0.1f, .rate_scale = 0.5f}};
  std::vector<UpdateRange> ranges;
  for (const Part& part : parts) {
    const auto of = [&](Tensor x) { return x.slice(part.begin, part.end - part.begin); };
    ranges.push_back({.w = of(wt),
                      .g = of(gt),
                      .m = of(mt),
                      .v = of(vt),
                      .weight_decay = part.weight_decay,
                      .rate_scale = part.rate_scale,
                      .adapts = part.adapts});
  }
  for (uint64_t step = 0; step < 4; ++step) {
    begin({.seed = 1, .step = step, .learning_rate = 0.01f});
    Vector g = random(n);
    std::vector<float> single(g.begin(), g.end());
    copy_in(gt, single.data());
    count_examples(4);
    add_squares(gt);
    state_->finish_gradients(0);
    kernels().lamb(ranges, {}, *state_);
    for (double& value : g) value /= 4;
    for (const Part& part : parts) {
      reference.step(g, static_cast<double>(step + 1), static_cast<double>(0.01f), part);
    }
    expect_near(wt, reference.w, 5e-6, "w");
    expect_near(mt, reference.m, 1e-6, "m");
    expect_near(vt, reference.v, 1e-6, "v");
    const std::vector<float> left = floats(gt);
    for (size_t i = 0; i < size; ++i) {
      ASSERT_EQ(left[i], i < 700 || i >= 710 ? 0.0f : single[i]) << i;
    }
  }
}

TEST_P(Lamb, ZeroGradientsChangeNothing) {
  begin({.step = 0, .learning_rate = 0.1f});
  const Tensor g = zeros({3}), w = tensor({3}, {1, 2, 3}), m = zeros({3}), v = zeros({3});
  add_squares(g);
  state_->finish_gradients(1.0f);
  const UpdateRange range{.w = w, .g = g, .m = m, .v = v};
  kernels().lamb({&range, 1}, {}, *state_);
  expect_near(w, {1, 2, 3}, 0, "w");
}

BERTH_INSTANTIATE_KERNELS(Lamb);

}  // namespace
}  // namespace berth
