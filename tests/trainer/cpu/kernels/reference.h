#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"

// The operations as their papers define them, in double precision and in plain loops. They share no
// code with the kernels except Philox. T, H, A and the other letters are those of kernels.h.
namespace berth::reference {

using Vector = std::vector<double>;

// The gradient of sum(cotangent * f(x)) with respect to x, by central differences.
Vector numeric_gradient(const std::function<Vector(const Vector&)>& f, const Vector& x,
                        const Vector& cotangent);

// The factor of one element under dropout, as the contract of Dropout defines it: 0 or 1/(1-p).
// `row` is the row's number in the update. `stream` is the attention head, or 0.
double dropout_factor(const Dropout& dropout, const UpdateInputs& inputs, uint64_t row,
                      uint32_t stream, uint64_t element);
// Applies dropout to x [rows, columns], whose first row has the number `first_row`.
Vector dropout(const Vector& x, int64_t columns, const Dropout& dropout, const UpdateInputs& inputs,
               uint64_t first_row);

Vector layer_norm(const Vector& x, const Vector& gamma, const Vector& beta, double epsilon);
// Returns x w^T + bias [T,N] of x [T,K], w [N,K] and bias [N].
Vector linear(const Vector& x, const Vector& w, const Vector& bias);
// Adds a [m,k] b [k,n], which are fp32, to c [m,n].
void add_product(const Product& product);
// Returns scale * x a^T b^T [T,N] of x [T,K], a [R,K] and b [N,R].
Vector low_rank(const Vector& x, const Vector& a, const Vector& b, int64_t rank, double scale);
double activation(Activation activation, double x);
Vector activation(Activation activation, const Vector& x);

struct ConvolutionShape {
  std::vector<int32_t> cu_seqlens;
  int64_t inputs, outputs, size;
  Activation kind;
  Dropout dropout;
  UpdateInputs step;
  uint64_t first_token = 0;

  int64_t tokens() const { return cu_seqlens.back(); }
};
// Convolves x [T,inputs] with w [outputs,inputs,size] inside each sequence and adds bias [outputs].
// Applies dropout and then the activation. Returns [T,outputs].
Vector convolution(const ConvolutionShape& shape, const Vector& x, const Vector& w,
                   const Vector& bias);

struct AttentionShape {
  std::vector<int32_t> cu_seqlens;
  int64_t heads, head_size;
  Dropout dropout;
  UpdateInputs inputs;
  uint64_t first_token = 0;
  int64_t window = -1;  // keys farther away are not seen; -1: all are

  int64_t tokens() const { return cu_seqlens.back(); }
  int64_t hidden() const { return heads * head_size; }
};
// Returns attention's output [T,H] for qkv [T,3H]. Writes log_sum_exp [T,A] if it is not null.
Vector attention(const AttentionShape& shape, const Vector& qkv, Vector* log_sum_exp = nullptr);
// The same with a bias added to the scaled scores: the row of `table` [P,A] that `rows` [2N-1]
// names for each distance from 1-N to N-1.
Vector biased_attention(const AttentionShape& shape, const Vector& qkv, const Vector& table,
                        const std::vector<int32_t>& rows);
// The same with scores from relative positions. `rows` [2N-1] names the row of position_qk [P,2H]
// for each distance from 1-N to N-1.
Vector disentangled_attention(const AttentionShape& shape, const Vector& qkv,
                              const Vector& position_qk, const std::vector<int32_t>& rows,
                              Vector* log_sum_exp = nullptr);

// The loss of each row of logits [B,C]. A row with a negative label has the loss 0.
Vector cross_entropy(const Vector& logits, const std::vector<int32_t>& labels,
                     double smoothing = 0);
Vector squared_error(const Vector& logits, const Vector& targets);
// The loss of each row of logits [B,C]: the mean over the C classes. Targets are [B,C].
Vector binary_cross_entropy(const Vector& logits, const Vector& targets, int64_t classes);
// The loss of each sequence. Column 0 of logits [T,2] scores starts, column 1 ends.
Vector span_cross_entropy(const Vector& logits, const std::vector<int32_t>& cu_seqlens,
                          const std::vector<int32_t>& starts, const std::vector<int32_t>& ends);

}  // namespace berth::reference
