#include <cmath>

#include "storage/base/philox.h"
#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {

namespace {

uint64_t first_row_of(const Dropout& dropout, const StepState& state) {
  switch (dropout.rows) {
    case DropoutRows::kSequences:
      return state.first_sequence;
    case DropoutRows::kTable:
      return dropout.first_row;
    case DropoutRows::kTokens:
      break;
  }
  return state.first_token;
}

}  // namespace

std::optional<DropoutDraw> draw_of(const Dropout& dropout, const StepState& state) {
  if (dropout.p <= 0) return std::nullopt;
  assert(dropout.p < 1);
  const StepState& cpu = state;
  const auto key = philox_key(cpu.inputs.seed, cpu.inputs.step, dropout.site);
  const auto threshold = static_cast<uint32_t>(
      std::min(65535L, std::lround(static_cast<double>(dropout.p) * 65536.0)));
  return DropoutDraw{.key = {key[0], key[1]},
                     .first_row = first_row_of(dropout, cpu),
                     .tokens = dropout.tokens ? dropout.tokens.i32() : nullptr,
                     .threshold = threshold,
                     .scale = 65536.0f / static_cast<float>(65536u - threshold)};
}

void Kernels::dropout(Tensor x, Dropout dropout, const StepState& state, Tensor y) {
  const int64_t rows = x.rows(), columns = x.columns();
  const std::optional<DropoutDraw> draw = draw_of(dropout, state);
  if (!draw && x.data == y.data) return;
  parallel(rows, row_grain(columns), [&](int64_t begin, int64_t end, int) {
    const float* from = x.f32() + begin * columns;
    float* to = y.f32() + begin * columns;
    const RowDraw rows_draw(draw, begin);
    if (rows_draw.get() == nullptr) {
      loops_.copy(from, to, (end - begin) * columns);
    } else {
      loops_.dropout(from, *rows_draw.get(), end - begin, columns, to);
    }
  });
}

void Kernels::layer_norm_forward(Tensor x, Tensor gamma, Tensor beta, float epsilon, Tensor y,
                                 Tensor mean, Tensor rstd) {
  const int64_t rows = x.rows(), columns = x.columns();
  parallel(rows, row_grain(columns), [&](int64_t begin, int64_t end, int) {
    loops_.layer_norm_forward(x.f32() + begin * columns, gamma.f32(), beta.f32(), epsilon,
                              end - begin, columns, y.f32() + begin * columns, mean.f32() + begin,
                              rstd.f32() + begin);
  });
}

void Kernels::layer_norm_again(Tensor x, Tensor gamma, Tensor beta, Tensor mean, Tensor rstd,
                               Tensor y) {
  const int64_t rows = x.rows(), columns = x.columns();
  parallel(rows, row_grain(columns), [&](int64_t begin, int64_t end, int) {
    loops_.layer_norm_again(x.f32() + begin * columns, gamma.f32(), beta.f32(), mean.f32() + begin,
                            rstd.f32() + begin, end - begin, columns, y.f32() + begin * columns);
  });
}

void Kernels::add_layer_norm_forward(Tensor x, Tensor residual, Dropout dropout,
                                     const StepState& state, Tensor gamma, Tensor beta,
                                     float epsilon, Tensor sum, Tensor y, Tensor mean,
                                     Tensor rstd) {
  const int64_t rows = x.rows(), columns = x.columns();
  const std::optional<DropoutDraw> draw = draw_of(dropout, state);
  parallel(rows, row_grain(columns), [&](int64_t begin, int64_t end, int) {
    const int64_t at = begin * columns;
    loops_.add_layer_norm_forward(x.f32() + at, residual.f32() + at, RowDraw(draw, begin).get(),
                                  gamma.f32(), beta.f32(), epsilon, end - begin, columns,
                                  sum.f32() + at, y.f32() + at, mean.f32() + begin,
                                  rstd.f32() + begin);
  });
}

void Kernels::layer_norm_backward(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor rstd,
                                  Tensor dx, Tensor dgamma, Tensor dbeta) {
  backward_through_norm(dy, x, gamma, mean, rstd, std::nullopt, dx, Tensor{}, dgamma, dbeta);
}

void Kernels::add_layer_norm_backward(Tensor dy, Tensor sum, Dropout dropout,
                                      const StepState& state, Tensor gamma, Tensor mean,
                                      Tensor rstd, Tensor dx, Tensor dresidual, Tensor dgamma,
                                      Tensor dbeta) {
  backward_through_norm(dy, sum, gamma, mean, rstd, draw_of(dropout, state), dresidual, dx, dgamma,
                        dbeta);
}

// dx: the gradient of x; ddropped: that of the part of x that went through dropout. dgamma and
// dbeta are summed in fp32 over blocks of rows, those in double over a thread's rows, and those in
// thread order.
void Kernels::backward_through_norm(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor rstd,
                                    const std::optional<DropoutDraw>& draw, Tensor dx,
                                    Tensor ddropped, Tensor dgamma, Tensor dbeta) {
  constexpr int64_t kBlock = 32;
  const int64_t rows = x.rows(), columns = x.columns();
  const Tensor normed = dx ? dx : ddropped;
  std::vector<std::vector<double>> totals(static_cast<size_t>(pool_.size()));
  parallel(rows, row_grain(columns), [&](int64_t begin, int64_t end, int thread) {
    std::vector<double> total(static_cast<size_t>(2 * columns));
    std::vector<float> partial(total.size());
    for (int64_t row = begin; row < end; row += kBlock) {
      const int64_t at = row * columns, count = std::min(kBlock, end - row);
      std::fill(partial.begin(), partial.end(), 0.0f);
      float* to = normed ? normed.f32() + at : nullptr;
      loops_.layer_norm_backward(dy.f32() + at, x.f32() + at, gamma.f32(), mean.f32() + row,
                                 rstd.f32() + row, count, columns, to, partial.data(),
                                 partial.data() + columns);
      loops_.add_to_double(partial.data(), total.data(), 2 * columns);
      if (!ddropped) continue;
      float* dropped = ddropped.f32() + at;
      if (const RowDraw rows_draw(draw, row); rows_draw.get() != nullptr) {
        loops_.dropout(to, *rows_draw.get(), count, columns, dropped);
      } else if (dropped != to) {
        loops_.copy(to, dropped, count * columns);
      }
    }
    totals[static_cast<size_t>(thread)] = std::move(total);
  });
  for (const std::vector<double>& total : totals) {
    for (size_t c = 0; c < total.size(); ++c) {
      const bool is_gamma = c < static_cast<size_t>(columns);
      const Tensor& gradient = is_gamma ? dgamma : dbeta;
      if (gradient) gradient.f32()[is_gamma ? c : c - columns] += static_cast<float>(total[c]);
    }
  }
}

}  // namespace berth
