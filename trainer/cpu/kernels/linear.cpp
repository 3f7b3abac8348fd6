#include "trainer/cpu/kernels/linear.h"

#include "trainer/cpu/kernels/dropout.h"
#include "trainer/cpu/kernels/gemm.h"

namespace berth {
namespace {

// Products with fewer outputs than this, such as a classifier's, stay in fp32, because they cost
// little and the job reports their results.
constexpr int64_t kLeastOutputs = kPanelColumns / 2;

}  // namespace

Weight::Weight(ConstTensor values, WeightUse use, Bf16Products* bf16, Int8Products* int8)
    : values_(values),
      use_(use),
      products_(values.rows() >= kLeastOutputs ? bf16 : nullptr),
      int8_(values.rows() >= kLeastOutputs ? int8 : nullptr) {
  if (!values) return;
  if (int8_ != nullptr) in_int8_ = int8_->pack(values_);
  if (int8_ != nullptr || products_ == nullptr) return;
  const auto [packs_forward, packs_backward] = products_->packs(use);
  if (packs_forward) forward_ = products_->make_matrix(values.columns(), values.rows());
  if (packs_backward) backward_ = products_->make_matrix(values.rows(), values.columns());
  refresh();
}

void Weight::refresh() {
  if (int8_ != nullptr) in_int8_ = int8_->pack(values_);
  if (!forward_) return;
  products_->pack({values_.f32(), values_.columns(), true}, *forward_,
                  backward_ ? &*backward_ : nullptr);
}

size_t Weight::packed_bytes() const {
  if (int8_ != nullptr) return int8_->matrix_bytes(values_.columns(), values_.rows());
  if (products_ == nullptr) return 0;
  const auto [packs_forward, packs_backward] = products_->packs(use_);
  return (packs_forward ? products_->matrix_bytes(values_.columns(), values_.rows()) : 0) +
         (packs_backward ? products_->matrix_bytes(values_.rows(), values_.columns()) : 0);
}

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
  // The sums are fp32. Where `pre` is bf16 they lie in y for the moment.
  const Tensor sums = pre.dtype == DType::kF32 ? pre : y;
  multiply_by_layer(w, forward_product(x, w.values(), bias, sums), [&](const Tile& tile) {
    // The tile's sums are still in a cache: they are kept, and activated as they were kept.
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
  // dx [T,K] (+)= dy [T,N] w [N,K].
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
  // dw [N,K] (+)= dy^T x [T,K].
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
  // Each tile is summed over all tokens in fp32, and rounded once when it is stored.
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

void Kernels::multiply_narrow(const Product& product) {
  count(product);
  multiply(pool_, product);
}

void Kernels::low_rank_forward(ConstTensor x, const LowRankFactors& adapter, Tensor down,
                               Tensor y) {
  const ProfileScope scope(pool_.profiler(), "low_rank_forward",
                           bytes_of({x, adapter.a, down, y, y}));
  const auto& [a, b, scale, column] = adapter;
  const int64_t tokens = x.rows(), inputs = x.columns(), rank = a.rows();
  assert(a.columns() == inputs && b.columns() == rank && down.columns() == rank);
  assert(column + b.rows() <= y.columns());
  // down [T,R] = x [T,K] a^T.
  multiply_narrow({.m = tokens,
                   .n = rank,
                   .k = inputs,
                   .a = {x.f32(), inputs},
                   .b = {a.f32(), inputs, true},
                   .c = down.f32(),
                   .c_stride = rank});
  // y [T,N] += scale down b^T, in the adapter's columns.
  multiply_narrow({.m = tokens,
                   .n = b.rows(),
                   .k = rank,
                   .a = {down.f32(), rank},
                   .b = {b.f32(), rank, true},
                   .c = y.f32() + column,
                   .c_stride = y.columns(),
                   .scale = scale,
                   .add = true});
}

void Kernels::low_rank_backward(ConstTensor dy, ConstTensor x, ConstTensor down,
                                const LowRankFactors& adapter, const LowRankGradients& gradients) {
  const ProfileScope scope(pool_.profiler(), "low_rank_backward",
                           bytes_of({dy, x, down, gradients.dx}));
  const auto& [a, b, scale, column] = adapter;
  const auto& [ddown, dx, into_dx, da, db] = gradients;
  const int64_t tokens = x.rows(), inputs = x.columns(), rank = a.rows(), outputs = b.rows();
  const float* const dout = dy.f32() + column;
  // ddown [T,R] = scale dout [T,N] b.
  multiply_narrow({.m = tokens,
                   .n = rank,
                   .k = outputs,
                   .a = {dout, dy.columns()},
                   .b = {b.f32(), rank},
                   .c = ddown.f32(),
                   .c_stride = rank,
                   .scale = scale});
  // db [N,R] += scale dout^T down.
  if (db) {
    multiply_narrow({.m = outputs,
                     .n = rank,
                     .k = tokens,
                     .a = {dout, dy.columns(), true},
                     .b = {down.f32(), rank},
                     .c = db.f32(),
                     .c_stride = rank,
                     .scale = scale,
                     .add = true});
  }
  // da [R,K] += ddown^T x.
  if (da) {
    multiply_narrow({.m = rank,
                     .n = inputs,
                     .k = tokens,
                     .a = {ddown.f32(), rank, true},
                     .b = {x.f32(), inputs},
                     .c = da.f32(),
                     .c_stride = inputs,
                     .add = true});
  }
  // dx [T,K] (+)= ddown a.
  multiply_narrow({.m = tokens,
                   .n = inputs,
                   .k = rank,
                   .a = {ddown.f32(), rank},
                   .b = {a.f32(), inputs},
                   .c = dx.f32(),
                   .c_stride = inputs,
                   .add = into_dx == Into::kAdd});
}

}  // namespace berth
