#include "trainer/cpu/kernels/dropout_draw.h"
#include "trainer/cpu/kernels/gemm.h"

namespace berth {

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
  multiply_narrow({.m = tokens,
                   .n = rank,
                   .k = inputs,
                   .a = {x.f32(), inputs},
                   .b = {a.f32(), inputs, true},
                   .c = down.f32(),
                   .c_stride = rank});
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
  multiply_narrow({.m = tokens,
                   .n = rank,
                   .k = outputs,
                   .a = {dout, dy.columns()},
                   .b = {b.f32(), rank},
                   .c = ddown.f32(),
                   .c_stride = rank,
                   .scale = scale});
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
