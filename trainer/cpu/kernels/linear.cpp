#include "trainer/cpu/kernels/linear.h"

#include "trainer/cpu/kernels/dropout.h"
#include "trainer/cpu/kernels/gemm.h"

namespace berth {

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

// Where a product leaves sums for a result in fp32; null: with its caller, a tile at a time.
float* sums_of(Tensor y) { return y.dtype == DType::kF32 ? y.f32() : nullptr; }

// x w^T + bias, with its sums in `sums` or, where that is bf16, in none.
Product forward_product(ConstTensor x, ConstTensor w, ConstTensor bias, Tensor sums) {
  assert(x.columns() == w.columns() && sums.rows() == x.rows() && sums.columns() == w.rows());
  return {.m = x.rows(),
          .n = w.rows(),
          .k = x.columns(),
          .a = Factor(x),
          .b = Factor(w, true),
          .c = sums_of(sums),
          .c_stride = sums.columns(),
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

void Kernels::multiply_by_rows(const Weight& w, const std::optional<Bf16Part>& right,
                               const Product& product, const RowFunction& use) {
  const auto use_rows = [&](const Tile& tile, float* sums, int64_t stride) {
    for (int64_t row = 0; row < tile.rows; ++row) {
      use(sums + row * stride, (tile.row + row) * product.n + tile.column, tile.columns);
    }
  };
  const SumsFunction use_sums = [&](const Tile& tile, float* sums) {
    use_rows(tile, sums, tile.columns);
  };
  TileFunction after;  // stays empty where nobody wants the sums
  if (use) {
    after = [&](const Tile& tile) {
      use_rows(tile, product.c + tile.row * product.c_stride + tile.column, product.c_stride);
    };
  }
  if (w.in_int8() != nullptr) {
    count(product);
    int8_->multiply(*w.in_int8(), product, product.c ? nullptr : use_sums, after);
  } else if (product.c != nullptr) {
    multiply_by(w, right, product, after);
  } else {
    assert(w.multiplies_in_bf16());
    count(product);
    bf16_->multiply_in_tiles(product, right ? &*right : nullptr, use_sums);
  }
}

void Kernels::store_row(const float* sums, Tensor y, int64_t at, int64_t count) const {
  // Twice a second-level cache: nobody finds more than this in it.
  constexpr size_t kBytesBeyondCaches = size_t{4} << 20;
  const auto stream = bf16_ ? bf16_->loops().stream_row : nullptr;
  if (stream != nullptr && y.dtype == DType::kBF16 && count == kPanelColumns &&
      y.size_bytes() >= kBytesBeyondCaches &&
      reinterpret_cast<uintptr_t>(y.bf16() + at) % 64 == 0) {
    stream(sums, y.bf16() + at);
  } else {
    keep_row(sums, y, at, count);
  }
}

void Kernels::linear_forward(ConstTensor x, const Weight& w, ConstTensor bias, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "linear_forward", bytes_of({x, w.values(), y}));
  RowFunction store;
  if (y.dtype != DType::kF32) {
    store = [&](float* sums, int64_t at, int64_t count) { store_row(sums, y, at, count); };
  }
  multiply_by_rows(w, whole(w.forward()), forward_product(x, w.values(), bias, y), store);
}

void Kernels::linear_activation_forward(ConstTensor x, const Weight& w, ConstTensor bias,
                                        Activation activation, Tensor pre, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "linear_activation_forward",
                           bytes_of({x, w.values(), pre, y}));
  assert(pre.dtype == DType::kBF16 || y.dtype == DType::kF32);
  const auto apply = loops_.activation_forward[static_cast<size_t>(activation)];
  // The sums are fp32. Where `pre` is bf16 they may lie in y for the moment. While a tile's sums
  // are still in a cache they are kept, and activated as they were kept.
  const Tensor sums = pre.dtype == DType::kF32 ? pre : y;
  const auto use = [&](float* row, int64_t at, int64_t count) {
    if (pre.dtype == DType::kF32 && y.dtype == DType::kF32) {
      keep_row(row, pre, at, count);
      return apply(row, y.f32() + at, count);
    }
    round_as(pre.dtype, row, count);
    store_row(row, pre, at, count);
    apply(row, row, count);
    store_row(row, y, at, count);
  };
  multiply_by_rows(w, whole(w.forward()), forward_product(x, w.values(), bias, sums), use);
}

void Kernels::round_as(DType dtype, float* x, int64_t count) const {
  if (dtype != DType::kBF16) return;
  uint16_t rounded[kRowChunk];
  for (int64_t at = 0; at < count; at += kRowChunk) {
    const int64_t part = std::min(kRowChunk, count - at);
    loops_.to_bf16(x + at, rounded, part);
    loops_.from_bf16(rounded, x + at, part);
  }
}

void Kernels::linear_backward(ConstTensor dy, ConstTensor x, const Weight& w, Tensor dx, Into into,
                              const LinearGradients& gradients, const Preactivation& pre) {
  const ProfileScope scope(pool_.profiler(), "linear_backward",
                           bytes_of({dy, x, w.values(), dx, gradients.dw}));
  const ConstTensor values = w.values();
  const int64_t tokens = dy.rows(), outputs = dy.columns(), inputs = values.columns();
  assert(values.rows() == outputs);
  // dx [T,K] (+)= dy [T,N] w [N,K].
  if (dx) {
    assert(dx.columns() == inputs && (into == Into::kOverwrite || (!pre.values && sums_of(dx))));
    const Product data_gradient{.m = tokens,
                                .n = inputs,
                                .k = outputs,
                                .a = Factor(dy),
                                .b = Factor(values),
                                .c = sums_of(dx),
                                .c_stride = inputs,
                                .add = into == Into::kAdd};
    RowFunction store;
    if (pre.values || dx.dtype != DType::kF32) {
      store = [&](float* sums, int64_t at, int64_t count) {
        if (pre.values) backward_row(pre, at, count, sums);
        store_row(sums, dx, at, count);
      };
    }
    multiply_by_rows(w, whole(w.backward()), data_gradient, store);
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
                  .a = Factor(dy, true),
                  .b = Factor(x),
                  .c = nullptr,
                  .c_stride = x.columns()};
  // Each tile is summed over all tokens in fp32, and rounded once when it is stored.
  if (dw.dtype == DType::kBF16) {
    assert(into == Into::kOverwrite);
    count(product);
    bf16_->multiply_in_tiles(product, nullptr, [&](const Tile& tile, const float* sums) {
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
        const int64_t count = std::min(kRows, rows - row);
        float partial[kColumns] = {}, room[kRows * kColumns];
        if (x.dtype == DType::kF32) {
          loops_.column_sums(x.f32() + row * columns + column, count, columns, width, partial);
        } else {
          for (int64_t r = 0; r < count; ++r) {
            widened(x, (row + r) * columns + column, width, room + r * width);
          }
          loops_.column_sums(room, count, width, width, partial);
        }
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
