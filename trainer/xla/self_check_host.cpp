#include <cmath>

#include "storage/base/philox.h"
#include "trainer/xla/self_check.h"

namespace berth {
namespace {

constexpr size_t kInner = CheckProgram::kInner, kOuter = CheckProgram::kOuter;

// Uniform in (-scale, scale).
std::vector<float> random_values(size_t count, uint32_t stream, float scale) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const auto words = philox4x32({low_word(i), high_word(i), stream, 0}, {7, 7});
    values[i] = scale * (static_cast<float>(words[0] >> 8) / 8388608.0f - 1.0f);
  }
  return values;
}

std::vector<float> repeated_rows(uint32_t stream) {
  std::vector<float> values = random_values(CheckProgram::kDistinct * kInner, stream, 1);
  const size_t distinct = values.size();
  values.resize(CheckProgram::kRows * kInner);
  for (size_t i = distinct; i < values.size(); ++i) values[i] = values[i - distinct];
  return values;
}

struct Gradients {
  double loss = 0;
  std::vector<double> b = std::vector<double>(kInner), f = std::vector<double>(kOuter * kInner),
                      g = std::vector<double>(kInner * kOuter);
};

// Adds the gradients of one row, with which all rows that are equal to it are counted.
void add_row(const CheckProgram::State& state, const float* x, const float* t, Gradients& sums) {
  constexpr double kRepeats = static_cast<double>(CheckProgram::kRows) / CheckProgram::kDistinct;
  const std::vector<float>&b = state[0], &f = state[1], &g = state[2];
  std::vector<double> x1(kInner), h(kOuter), dh(kOuter);
  for (size_t i = 0; i < kInner; ++i) x1[i] = double{x[i]} + b[i];
  for (size_t o = 0; o < kOuter; ++o) {
    for (size_t i = 0; i < kInner; ++i) h[o] += x1[i] * f[o * kInner + i];
    h[o] = std::tanh(h[o]);
  }
  for (size_t i = 0; i < kInner; ++i) {
    double e = -t[i];
    for (size_t o = 0; o < kOuter; ++o) e += h[o] * g[i * kOuter + o];
    sums.loss += kRepeats * e * e;
    const double dy = kRepeats * 2 * e;
    for (size_t o = 0; o < kOuter; ++o) {
      sums.g[i * kOuter + o] += dy * h[o];
      dh[o] += dy * g[i * kOuter + o];
    }
  }
  for (size_t o = 0; o < kOuter; ++o) {
    const double da = dh[o] * (1 - h[o] * h[o]);
    for (size_t i = 0; i < kInner; ++i) {
      sums.f[o * kInner + i] += da * x1[i];
      sums.b[i] += da * f[o * kInner + i];
    }
  }
}

}  // namespace

std::vector<int64_t> CheckProgram::dimensions(size_t index) {
  const std::vector<int64_t> all[kParameters] = {{kInner}, {kOuter, kInner}, {kInner, kOuter}};
  return all[index % kParameters];
}

CheckProgram::State CheckProgram::first_state() {
  State state;
  for (size_t i = 0; i < state.size(); ++i) {
    const size_t count = i % kParameters == 0 ? kInner : kInner * kOuter;
    state[i] = i < kParameters ? random_values(count, static_cast<uint32_t>(i), 0.1f)
                               : std::vector<float>(count);
  }
  return state;
}

std::vector<float> CheckProgram::x() { return repeated_rows(10); }
std::vector<float> CheckProgram::t() { return repeated_rows(11); }

double CheckProgram::step(State& state, const std::vector<float>& x, const std::vector<float>& t) {
  Gradients sums;
  for (size_t row = 0; row < kDistinct; ++row) {
    add_row(state, &x[row * kInner], &t[row * kInner], sums);
  }
  double squares = 0;
  const std::vector<double>* const gradients[kParameters] = {&sums.b, &sums.f, &sums.g};
  for (const auto* of_parameter : gradients) {
    for (const double gradient : *of_parameter) squares += gradient * gradient;
  }
  for (size_t p = 0; p < kParameters; ++p) {
    std::vector<float>&values = state[p], &m = state[kParameters + p],
    &v = state[2 * kParameters + p];
    for (size_t i = 0; i < values.size(); ++i) {
      const double clipped = (*gradients[p])[i] / std::sqrt(squares);
      const double m_new = kBeta1 * m[i] + (1 - kBeta1) * clipped;
      const double v_new = kBeta2 * v[i] + (1 - kBeta2) * clipped * clipped;
      const double move = kRate * m_new / (std::sqrt(v_new) + kEpsilon);
      values[i] = static_cast<float>((1 - kRate * kDecay) * values[i] - move);
      m[i] = static_cast<float>(m_new);
      v[i] = static_cast<float>(v_new);
    }
  }
  return sums.loss;
}

}  // namespace berth
