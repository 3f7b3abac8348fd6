#include <cmath>
#include <cstddef>

#include "trainer/xla/pjrt/self_check_program.h"

namespace berth {
namespace {

using Matrix = std::vector<double>;  // row-major

constexpr size_t kT = CheckProgram::kDistinct, kI = CheckProgram::kInner, kO = CheckProgram::kOuter;

// out [rows,columns] = a [rows,inner] b, where b is [inner,columns]. All of them are plain loops.
Matrix product(const Matrix& a, const Matrix& b, size_t rows, size_t inner, size_t columns) {
  Matrix out(rows * columns);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < inner; ++i) {
      const double factor = a[r * inner + i];
      const double* from = &b[i * columns];
      double* to = &out[r * columns];
      for (size_t c = 0; c < columns; ++c) to[c] += factor * from[c];
    }
  }
  return out;
}

Matrix transposed(const Matrix& a, size_t rows, size_t columns) {
  Matrix out(a.size());
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) out[c * rows + r] = a[r * columns + c];
  }
  return out;
}

// Sums over the distinct rows stand for sums over all rows.
constexpr double kRepeats = static_cast<double>(CheckProgram::kRows) / CheckProgram::kDistinct;

struct Gradients {
  double loss = 0;
  std::array<Matrix, CheckProgram::kParameters> of{};
};

Gradients gradients(const CheckProgram::State& state, const std::vector<float>& x,
                    const std::vector<float>& t) {
  const Matrix f(state[1].begin(), state[1].end()), g(state[2].begin(), state[2].end());
  Matrix x1(kT * kI);
  for (size_t i = 0; i < x1.size(); ++i) x1[i] = double{x[i]} + state[0][i % kI];
  Matrix h = product(x1, transposed(f, kO, kI), kT, kI, kO);
  for (double& value : h) value = std::tanh(value);
  const Matrix y = product(h, transposed(g, kI, kO), kT, kO, kI);

  Gradients result;
  Matrix dy(kT * kI);
  for (size_t i = 0; i < dy.size(); ++i) {
    const double e = y[i] - t[i];
    result.loss += kRepeats * e * e;
    dy[i] = 2 * e;
  }
  Matrix da = product(dy, g, kT, kI, kO);
  for (size_t i = 0; i < da.size(); ++i) da[i] *= 1 - h[i] * h[i];
  const Matrix dx = product(da, f, kT, kO, kI);
  result.of[0].assign(kI, 0);
  for (size_t i = 0; i < dx.size(); ++i) result.of[0][i % kI] += dx[i];
  result.of[1] = product(transposed(da, kT, kO), x1, kO, kT, kI);
  result.of[2] = product(transposed(dy, kT, kI), h, kI, kT, kO);
  for (Matrix& gradient : result.of) {
    for (double& value : gradient) value *= kRepeats;
  }
  return result;
}

}  // namespace

double CheckProgram::step(State& state, const std::vector<float>& x, const std::vector<float>& t) {
  const Gradients now = gradients(state, x, t);
  double squares = 0;
  for (const Matrix& gradient : now.of) {
    for (const double value : gradient) squares += value * value;
  }
  const double scale = 1 / std::sqrt(squares);
  for (size_t p = 0; p < kParameters; ++p) {
    std::vector<float>&values = state[p], &m = state[kParameters + p],
    &v = state[2 * kParameters + p];
    for (size_t i = 0; i < values.size(); ++i) {
      const double clipped = scale * now.of[p][i];
      const double m_new = kBeta1 * m[i] + (1 - kBeta1) * clipped;
      const double v_new = kBeta2 * v[i] + (1 - kBeta2) * clipped * clipped;
      const double move = kRate * m_new / (std::sqrt(v_new) + kEpsilon);
      values[i] = static_cast<float>((1 - kRate * kDecay) * values[i] - move);
      m[i] = static_cast<float>(m_new);
      v[i] = static_cast<float>(v_new);
    }
  }
  return now.loss;
}

}  // namespace berth
