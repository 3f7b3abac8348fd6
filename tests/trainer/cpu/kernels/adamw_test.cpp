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

// The update reads only the marked rows of a table. The result equals that of an update that reads
// all rows, to the bit.
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

}  // namespace
}  // namespace berth
