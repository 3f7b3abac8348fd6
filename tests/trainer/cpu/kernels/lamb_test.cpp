#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

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
