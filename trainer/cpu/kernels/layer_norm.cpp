#include <algorithm>

#include "trainer/cpu/kernels/dropout.h"

namespace berth {

const float* Kernels::betas_of(const LayerNormParameters& parameters) {
  if (parameters.beta) return parameters.beta.f32();
  const auto columns = static_cast<size_t>(parameters.gamma.elements());
  if (zeros_.size() < columns) zeros_.resize(columns);
  return zeros_.data();
}

void Kernels::layer_norm_forward(ConstTensor x, const LayerNormParameters& parameters, Tensor y,
                                 const NormStatistics& statistics) {
  const ProfileScope scope(pool_.profiler(), "layer_norm_forward", bytes_of({x, y}));
  const int64_t columns = x.columns();
  const float* const beta = betas_of(parameters);
  parallel(x.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    const int64_t at = begin * columns;
    loops_.layer_norm_forward(x.f32() + at, parameters.gamma.f32(), beta, parameters.epsilon,
                              end - begin, columns, y.f32() + at, statistics.mean.f32() + begin,
                              statistics.rstd.f32() + begin);
  });
}

void Kernels::layer_norm_recompute(const NormalizedRows& rows,
                                   const LayerNormParameters& parameters, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "layer_norm_recompute", bytes_of({rows.x, y}));
  const int64_t columns = rows.x.columns();
  const float* const beta = betas_of(parameters);
  parallel(rows.x.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    const int64_t at = begin * columns;
    loops_.layer_norm_recompute(rows.x.f32() + at, parameters.gamma.f32(), beta,
                                rows.mean.f32() + begin, rows.rstd.f32() + begin, end - begin,
                                columns, y.f32() + at);
  });
}

void Kernels::add_layer_norm_forward(ConstTensor x, ConstTensor residual, const Dropout& dropout,
                                     const StepState& state, const LayerNormParameters& parameters,
                                     const AddLayerNormOutputs& outputs) {
  const ProfileScope scope(pool_.profiler(), "add_layer_norm_forward",
                           bytes_of({x, residual, outputs.sum, outputs.y}));
  const int64_t columns = x.columns();
  const float* const beta = betas_of(parameters);
  const std::optional<DropoutDraw> draw = draw_of(dropout, state);
  parallel(x.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    const int64_t at = begin * columns;
    loops_.add_layer_norm_forward(
        x.f32() + at, residual.f32() + at, RowDraw(draw, begin).get(), parameters.gamma.f32(), beta,
        parameters.epsilon, end - begin, columns, outputs.sum.f32() + at, outputs.y.f32() + at,
        outputs.statistics.mean.f32() + begin, outputs.statistics.rstd.f32() + begin);
  });
}

void Kernels::layer_norm_backward(ConstTensor dy, const NormalizedRows& rows,
                                  const LayerNormParameters& parameters, Tensor dx,
                                  const LayerNormGradients& gradients) {
  const ProfileScope scope(pool_.profiler(), "layer_norm_backward", bytes_of({dy, rows.x, dx}));
  backward_through_norm(dy, rows, parameters, std::nullopt,
                        {.dx = {}, .dresidual = dx, .parameters = gradients});
}

void Kernels::add_layer_norm_backward(ConstTensor dy, const NormalizedRows& rows,
                                      const Dropout& dropout, const StepState& state,
                                      const LayerNormParameters& parameters,
                                      const AddLayerNormGradients& gradients) {
  const ProfileScope scope(pool_.profiler(), "add_layer_norm_backward",
                           bytes_of({dy, rows.x, gradients.dx, gradients.dresidual}));
  backward_through_norm(dy, rows, parameters, draw_of(dropout, state), gradients);
}

// dgamma and dbeta are summed in fp32 over blocks of rows. The blocks of a thread are summed in
// double, and the threads are added in their order.
void Kernels::backward_through_norm(ConstTensor dy, const NormalizedRows& rows,
                                    const LayerNormParameters& parameters,
                                    const std::optional<DropoutDraw>& draw,
                                    const AddLayerNormGradients& gradients) {
  constexpr int64_t kBlock = 32;
  const int64_t columns = rows.x.columns();
  const Tensor dsum = gradients.dresidual ? gradients.dresidual : gradients.dx;
  std::vector<std::vector<double>> totals(static_cast<size_t>(pool_.size()));
  // partial [2H]: dgamma and dbeta of these rows, summed in fp32.
  const auto backward_of_block = [&](int64_t row, int64_t count, std::vector<float>& partial) {
    const int64_t at = row * columns;
    float* const to = dsum ? dsum.f32() + at : nullptr;
    std::fill(partial.begin(), partial.end(), 0.0f);
    loops_.layer_norm_backward(dy.f32() + at, rows.x.f32() + at, parameters.gamma.f32(),
                               rows.mean.f32() + row, rows.rstd.f32() + row, count, columns, to,
                               partial.data(), partial.data() + columns);
    // The sum's gradient also flows through dropout, to what was dropped.
    if (!gradients.dx) return;
    float* const dropped = gradients.dx.f32() + at;
    if (const RowDraw rows_draw(draw, row); rows_draw.get() != nullptr) {
      loops_.dropout(to, *rows_draw.get(), count, columns, dropped);
    } else if (dropped != to) {
      loops_.copy(to, dropped, count * columns);
    }
  };
  parallel(rows.x.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int thread) {
    std::vector<double> total(static_cast<size_t>(2 * columns));
    std::vector<float> partial(total.size());
    for (int64_t row = begin; row < end; row += kBlock) {
      backward_of_block(row, std::min(kBlock, end - row), partial);
      loops_.add_to_double(partial.data(), total.data(), 2 * columns);
    }
    totals[static_cast<size_t>(thread)] = std::move(total);
  });
  for (const std::vector<double>& total : totals) {
    for (size_t c = 0; c < total.size(); ++c) {
      const bool is_gamma = c < static_cast<size_t>(columns);
      const Tensor& sums = is_gamma ? gradients.parameters.dgamma : gradients.parameters.dbeta;
      if (sums) sums.f32()[is_gamma ? c : c - columns] += static_cast<float>(total[c]);
    }
  }
}

}  // namespace berth
