#pragma once

// The functions in the table CpuLoops, one group for each file of this folder. The files are
// compiled once for each instruction set, which BERTH_LOOPS names. They must not include a header
// that defines inline functions outside this namespace: the linker keeps only one copy of such a
// function, and that copy might contain AVX-512.

#include <cstdint>

#include "trainer/cpu/kernels/loops.h"

namespace berth::BERTH_LOOPS {

void add(const float* x, float* y, int64_t count);
void copy(const float* x, float* y, int64_t count);
void to_bf16(const float* x, uint16_t* y, int64_t count);
void from_bf16(const uint16_t* x, float* y, int64_t count);
void add_to_double(const float* x, double* totals, int64_t count);
double sum(const float* x, int64_t count);
double sum_of_squares(const float* x, int64_t count);
void column_sums(const float* x, int64_t rows, int64_t stride, int64_t columns, float* sums);
float dot(const float* x, const float* y, int64_t count);

void gelu(const float* pre, float* y, int64_t count);
void gelu_tanh(const float* pre, float* y, int64_t count);
void relu(const float* pre, float* y, int64_t count);
void tanh(const float* pre, float* y, int64_t count);
void silu(const float* pre, float* y, int64_t count);
void gelu_backward(const float* pre, float* dy, int64_t count);
void gelu_tanh_backward(const float* pre, float* dy, int64_t count);
void relu_backward(const float* pre, float* dy, int64_t count);
void tanh_backward(const float* pre, float* dy, int64_t count);
void silu_backward(const float* pre, float* dy, int64_t count);

void dropout(const float* x, const DropoutDraw& draw, int64_t rows, int64_t columns, float* y);

void layer_norm_forward(const float* x, const float* gamma, const float* beta, float epsilon,
                        int64_t rows, int64_t columns, float* y, float* mean, float* rstd);
void layer_norm_recompute(const float* x, const float* gamma, const float* beta, const float* mean,
                          const float* rstd, int64_t rows, int64_t columns, float* y);
void add_layer_norm_forward(const float* x, const float* residual, const DropoutDraw* draw,
                            const float* gamma, const float* beta, float epsilon, int64_t rows,
                            int64_t columns, float* sum, float* y, float* mean, float* rstd);
void layer_norm_backward(const float* dy, const float* x, const float* gamma, const float* mean,
                         const float* rstd, int64_t rows, int64_t columns, float* dx, float* dgamma,
                         float* dbeta);

void embedding(const float* word, const float* position, const float* type, int64_t columns,
               float* y);

void attention_softmax(float* scores, const ScoreBlock& block, const DropoutDraw* draw,
                       float* log_sum_exp, int64_t log_stride);
void attention_softmax_backward(float* scores, float* dprobabilities, const ScoreBlock& block,
                                const DropoutDraw* draw, const float* log_sum_exp,
                                int64_t log_stride, const float* delta);
float maximum(const float* x, int64_t count);
double sum_of_exp(const float* x, float max, int64_t count);
void softmax(const float* x, float log_sum_exp, int64_t count, float* y);

bool adamw(float* w, float* g, float* m, float* v, int64_t count, const AdamWFactors& factors);
void decay(float* w, int64_t count, float keep);
double lamb_direction(const float* w, float* g, float* m, float* v, int64_t count,
                      const LambFactors& factors);
void lamb_apply(float* w, float* g, int64_t count, float rate);

}  // namespace berth::BERTH_LOOPS
