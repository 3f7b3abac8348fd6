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
    std::vector<float> room(static_cast<size_t>(columns));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * columns;
      float* const to = y.dtype == DType::kF32 ? y.f32() + at : room.data();
      loops_.layer_norm_recompute(rows.x.f32() + at, parameters.gamma.f32(), beta,
                                  rows.mean.f32() + row, rows.rstd.f32() + row, 1, columns, to);
      keep_row(to, y, at, columns);
    }
  });
}

void Kernels::add_layer_norm_forward(ConstTensor x, const Residual& residual,
                                     const Dropout& dropout, const StepState& state,
                                     const LayerNormParameters& parameters,
                                     const AddLayerNormOutputs& outputs) {
  const ProfileScope scope(pool_.profiler(), "add_layer_norm_forward",
                           bytes_of({x, residual.rows.x, outputs.sum, outputs.y}));
  const auto& [sum, y, statistics] = outputs;
  const int64_t columns = x.columns();
  const float* const beta = betas_of(parameters);
  const float* const residual_beta = residual.is_normalized() ? betas_of(residual.norm) : nullptr;
  const std::optional<DropoutDraw> draw = draw_of(dropout, state);
  parallel(x.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    std::vector<float> residual_room(static_cast<size_t>(columns)), y_room(residual_room.size());
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * columns;
      float* const to = y.dtype == DType::kF32 ? y.f32() + at : y_room.data();
      loops_.add_layer_norm_forward(
          x.f32() + at, residual_row(residual, residual_beta, row, residual_room.data()),
          RowDraw(draw, row).get(), parameters.gamma.f32(), beta, parameters.epsilon, 1, columns,
          sum.f32() + at, to, statistics.mean.f32() + row, statistics.rstd.f32() + row);
      keep_row(to, y, at, columns);
    }
  });
}

const float* Kernels::residual_row(const Residual& residual, const float* beta, int64_t row,
                                   float* room) const {
  const auto& [x, mean, rstd] = residual.rows;
  const float* const from = x.f32() + row * x.columns();
  if (!residual.is_normalized()) return from;
  loops_.layer_norm_recompute(from, residual.norm.gamma.f32(), beta, mean.f32() + row,
                              rstd.f32() + row, 1, x.columns(), room);
  return room;
}

void Kernels::gather_residual(const Residual& residual, ConstTensor rows, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "gather_residual", 2 * bytes_of({y}));
  const float* const beta = residual.is_normalized() ? betas_of(residual.norm) : nullptr;
  for (int64_t r = 0; r < y.rows(); ++r) {
    float* const to = y.f32() + r * y.columns();
    const float* const from = residual_row(residual, beta, rows.i32()[r], to);
    if (from != to) loops_.copy(from, to, y.columns());
  }
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
  const auto backward_of_block = [&](int64_t row, int64_t count, std::vector<float>& partial,
                                     std::vector<float>& room) {
    const int64_t at = row * columns;
    float* const to = dsum ? dsum.f32() + at : nullptr;
    std::fill(partial.begin(), partial.end(), 0.0f);
    loops_.layer_norm_backward(dy.f32() + at, rows.x.f32() + at, parameters.gamma.f32(),
                               rows.mean.f32() + row, rows.rstd.f32() + row, count, columns, to,
                               partial.data(), partial.data() + columns);
    // The sum's gradient also flows through dropout, to what was dropped.
    for (int64_t r = 0; gradients.dx && r < count; ++r) {
      const int64_t of_row = at + r * columns;
      const float* from = dsum.f32() + of_row;
      if (const RowDraw row_draw(draw, row + r); row_draw.get() != nullptr) {
        float* const dropped =
            gradients.dx.dtype == DType::kF32 ? gradients.dx.f32() + of_row : room.data();
        loops_.dropout(from, *row_draw.get(), 1, columns, dropped);
        from = dropped;
      }
      keep_row(from, gradients.dx, of_row, columns);
    }
  };
  parallel(rows.x.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int thread) {
    std::vector<double> total(static_cast<size_t>(2 * columns));
    std::vector<float> partial(total.size()), room(static_cast<size_t>(columns));
    for (int64_t row = begin; row < end; row += kBlock) {
      backward_of_block(row, std::min(kBlock, end - row), partial, room);
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
