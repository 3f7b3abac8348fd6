#include "trainer/cpu/kernels/dropout_draw.h"
#include "trainer/cpu/kernels/gemm.h"

namespace berth {
namespace {

// y = x w^T + bias.
Product forward_product(ConstTensor x, ConstTensor w, ConstTensor bias, Tensor y) {
  assert(x.columns() == w.columns() && y.rows() == x.rows() && y.columns() == w.rows());
  return {.m = x.rows(),
          .n = w.rows(),
          .k = x.columns(),
          .a = {x.f32(), x.columns()},
          .b = {w.f32(), w.columns(), true},
          .c = y.f32(),
          .c_stride = y.columns(),
          .bias = bias.f32()};
}

std::optional<Bf16Part> whole(const std::optional<Bf16Matrix>& packed) {
  return packed ? std::optional(packed->whole()) : std::nullopt;
}

}  // namespace

void Kernels::multiply_by(const Weight& weight, const std::optional<Bf16Part>& right,
                          const Product& product, const TileFunction& after) {
  count(product);
  if (weight.multiplies_in_bf16()) {
    bf16_->multiply(product, right ? &*right : nullptr, after);
  } else {
    multiply(pool_, product, after);
  }
}

void Kernels::multiply_alone(const Product& product, int thread) {
  count(product, thread);
  if (bf16_) {
    bf16_->multiply_alone(product, thread);
  } else {
    multiply(product);
  }
}

void Kernels::multiply_by_layer(const Weight& w, const Product& product,
                                const TileFunction& after) {
  if (w.in_int8() != nullptr) {
    count(product);
    return int8_->multiply(*w.in_int8(), product, after);
  }
  multiply_by(w, whole(w.forward()), product, after);
}

void Kernels::linear_forward(ConstTensor x, const Weight& w, ConstTensor bias, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "linear_forward", bytes_of({x, w.values(), y}));
  multiply_by_layer(w, forward_product(x, w.values(), bias, y));
}

void Kernels::linear_activation_forward(ConstTensor x, const Weight& w, ConstTensor bias,
                                        Activation activation, Tensor pre, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "linear_activation_forward",
                           bytes_of({x, w.values(), pre, y}));
  const Tensor sums = pre.dtype == DType::kF32 ? pre : y;
  multiply_by_layer(w, forward_product(x, w.values(), bias, sums), [&](const Tile& tile) {
    for (int64_t t = tile.row; t < tile.row + tile.rows; ++t) {
      const int64_t at = t * y.columns() + tile.column;
      keep_row(sums.f32() + at, pre, at, tile.columns);
      activate_row(pre, activation, at, tile.columns, y.f32() + at);
    }
  });
}

void Kernels::linear_backward(ConstTensor dy, ConstTensor x, const Weight& w, Tensor dx, Into into,
                              const LinearGradients& gradients) {
  const ProfileScope scope(pool_.profiler(), "linear_backward",
                           bytes_of({dy, x, w.values(), dx, gradients.dw}));
  const ConstTensor values = w.values();
  const int64_t tokens = dy.rows(), outputs = dy.columns(), inputs = values.columns();
  assert(values.rows() == outputs);
  if (dx) {
    assert(dx.columns() == inputs);
    const Product data_gradient{.m = tokens,
                                .n = inputs,
                                .k = outputs,
                                .a = {dy.f32(), outputs},
                                .b = {values.f32(), inputs},
                                .c = dx.f32(),
                                .c_stride = inputs,
                                .add = into == Into::kAdd};
    multiply_by(w, whole(w.backward()), data_gradient);
  }
  if (gradients.dw) {
    assert(x.columns() == inputs && x.rows() == tokens);
    weight_gradient(w, dy, x, gradients.dw, gradients.into_dw);
  }
  if (gradients.dbias) add_column_sums(dy, gradients.dbias);
}

void Kernels::weight_gradient(const Weight& weight, ConstTensor dy, ConstTensor x, Tensor dw,
                              Into into) {
  Product product{.m = dy.columns(),
                  .n = x.columns(),
                  .k = dy.rows(),
                  .a = {dy.f32(), dy.columns(), true},
                  .b = {x.f32(), x.columns()},
                  .c = nullptr,
                  .c_stride = x.columns()};
  if (dw.dtype == DType::kBF16) {
    assert(into == Into::kOverwrite);
    count(product);
    bf16_->multiply_in_tiles(product, [&](const Tile& tile, const float* sums) {
      for (int64_t row = 0; row < tile.rows; ++row) {
        loops_.to_bf16(sums + row * tile.columns,
                       dw.bf16() + (tile.row + row) * product.n + tile.column, tile.columns);
      }
    });
    return;
  }
  product.c = dw.f32();
  product.add = into == Into::kAdd;
  multiply_by(weight, std::nullopt, product);
}

// Each thread sums columns of its own. The rows of a block are summed in fp32, and the blocks are
// added in double.
void Kernels::add_column_sums(ConstTensor x, Tensor sums) {
  constexpr int64_t kRows = 32, kColumns = 64;
  const int64_t rows = x.rows(), columns = x.columns();
  const int64_t strips = (columns + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, row_grain(kColumns) / (rows + 1));
  parallel(strips, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t strip = begin; strip < end; ++strip) {
      const int64_t column = strip * kColumns, width = std::min(kColumns, columns - column);
      double total[kColumns] = {};
      for (int64_t row = 0; row < rows; row += kRows) {
        float partial[kColumns] = {};
        loops_.column_sums(x.f32() + row * columns + column, std::min(kRows, rows - row), columns,
                           width, partial);
        loops_.add_to_double(partial, total, width);
      }
      for (int64_t c = 0; c < width; ++c) sums.f32()[column + c] += static_cast<float>(total[c]);
    }
  });
}

}  // namespace berth
