#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"

// The operations as their papers write them: double precision, one plain loop after the other,
// nothing shared with the kernels but Philox.
namespace berth::reference {

using Vector = std::vector<double>;

// d sum(cotangent * f(x)) / dx by central differences.
Vector numeric_gradient(const std::function<Vector(const Vector&)>& f, const Vector& x,
                        const Vector& cotangent);

// 0 or 1/(1-p), for element `element` of row `row`, by the contract of Dropout.
double dropout_factor(const Dropout& dropout, const StepInputs& inputs, uint64_t row,
                      uint32_t stream, uint64_t element);
// x [rows, columns] times its factors.
Vector dropout(const Vector& x, int64_t columns, const Dropout& dropout, const StepInputs& inputs,
               uint64_t first_row);

Vector layer_norm(const Vector& x, const Vector& gamma, const Vector& beta, double epsilon);
// x [T,K], w [N,K], bias [N]
Vector linear(const Vector& x, const Vector& w, const Vector& bias);
// x [T,K], a [R,K], b [N,R] -> [T,N], `scale` times x a^T b^T.
Vector low_rank(const Vector& x, const Vector& a, const Vector& b, int64_t rank, double scale);
double activation(Activation activation, double x);
Vector activation(Activation activation, const Vector& x);

struct ConvolutionShape {
  std::vector<int32_t> cu_seqlens;
  int64_t inputs, outputs, size;
  Activation kind;
  Dropout dropout;
  StepInputs step;
  uint64_t first_token = 0;

  int64_t tokens() const { return cu_seqlens.back(); }
};
// x [T,inputs], w [outputs,inputs,size], bias [outputs] -> [T,outputs], dropped and activated.
Vector convolution(const ConvolutionShape& shape, const Vector& x, const Vector& w,
                   const Vector& bias);

struct AttentionShape {
  std::vector<int32_t> cu_seqlens;
  int64_t heads, head_size;
  Dropout dropout;
  StepInputs inputs;
  uint64_t first_token = 0;

  int64_t tokens() const { return cu_seqlens.back(); }
  int64_t hidden() const { return heads * head_size; }
};
// qkv [T,3H] -> out [T,H]; log_sum_exp [T,A] where not null.
Vector attention(const AttentionShape& shape, const Vector& qkv, Vector* log_sum_exp = nullptr);
// position_qk [P,2H]; rows [2N-1], by distance.
Vector disentangled_attention(const AttentionShape& shape, const Vector& qkv,
                              const Vector& position_qk, const std::vector<int32_t>& rows,
                              Vector* log_sum_exp = nullptr);

// Losses of logits [B,C]; a row with a negative label has none: 0.
Vector cross_entropy(const Vector& logits, const std::vector<int32_t>& labels,
                     double smoothing = 0);
Vector squared_error(const Vector& logits, const Vector& targets);
// The means over C of logits, targets [B,C].
Vector binary_cross_entropy(const Vector& logits, const Vector& targets, int64_t classes);
// Of logits [T,2].
Vector span_cross_entropy(const Vector& logits, const std::vector<int32_t>& cu_seqlens,
                          const std::vector<int32_t>& starts, const std::vector<int32_t>& ends);

}  // namespace berth::reference
