#include "trainer/cpu/kernels/dropout_draw.h"
#include "trainer/cpu/kernels/gemm.h"

namespace berth {

void Kernels::low_rank_forward(Tensor x, const Weight& a, const Weight& b, float scale,
                               int64_t column, Tensor down, Tensor y) {
  const Tensor into = a.master(), out_of = b.master();
  const int64_t tokens = x.rows(), inputs = x.columns(), rank = into.rows();
  assert(into.columns() == inputs && out_of.columns() == rank && down.columns() == rank);
  assert(column + out_of.rows() <= y.columns());
  multiply(pool_, {.m = tokens,
                   .n = rank,
                   .k = inputs,
                   .a = {x.f32(), inputs},
                   .b = {into.f32(), inputs, true},
                   .c = down.f32(),
                   .c_stride = rank});
  multiply(pool_, {.m = tokens,
                   .n = out_of.rows(),
                   .k = rank,
                   .a = {down.f32(), rank},
                   .b = {out_of.f32(), rank, true},
                   .c = y.f32() + column,
                   .c_stride = y.columns(),
                   .scale = scale,
                   .add = true});
}

void Kernels::low_rank_backward(Tensor dy, int64_t column, Tensor x, Tensor down, const Weight& a,
                                const Weight& b, float scale, Tensor ddown, Tensor dx, Into into,
                                Tensor da, Tensor db) {
  const Tensor a_values = a.master(), b_values = b.master();
  const int64_t tokens = x.rows(), inputs = x.columns(), rank = a_values.rows();
  const int64_t outputs = b_values.rows();
  const float* const dout = dy.f32() + column;
  multiply(pool_, {.m = tokens,
                   .n = rank,
                   .k = outputs,
                   .a = {dout, dy.columns()},
                   .b = {b_values.f32(), rank},
                   .c = ddown.f32(),
                   .c_stride = rank,
                   .scale = scale});
  if (db) {
    multiply(pool_, {.m = outputs,
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
    multiply(pool_, {.m = rank,
                     .n = inputs,
                     .k = tokens,
                     .a = {ddown.f32(), rank, true},
                     .b = {x.f32(), inputs},
                     .c = da.f32(),
                     .c_stride = inputs,
                     .add = true});
  }
  multiply(pool_, {.m = tokens,
                   .n = inputs,
                   .k = rank,
                   .a = {ddown.f32(), rank},
                   .b = {a_values.f32(), inputs},
                   .c = dx.f32(),
                   .c_stride = inputs,
                   .add = into == Into::kAdd});
}

}  // namespace berth
