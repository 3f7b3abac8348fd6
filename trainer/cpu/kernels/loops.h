#pragma once

#include <cstdint>

namespace berth {

// How one operation drops: what its Dropout and the step's state come to. A null pointer to one
// means no dropout.
struct DropoutDraw {
  uint32_t key[2];        // philox_key(seed, step, site)
  uint64_t first_row;     // of the first row handed over
  const int32_t* tokens;  // how far from there each row is; null: one after the other
  uint32_t threshold;     // of 65536: a smaller 16-bit draw drops
  float scale;            // of what is kept
};

// The factors of one AdamW update of elements that share them.
struct AdamWFactors {
  float gradient_scale;
  float keep;  // 1 - rate * weight decay
  float beta1, beta2;
  float step_size;                // rate / (1 - beta1^t)
  float inverse_root_correction;  // 1 / sqrt(1 - beta2^t)
  float epsilon;
};

// The factors of one LAMB step of a range.
struct LambFactors {
  float gradient_scale;
  float beta1, beta2;
  float correction;               // 1 / (1 - beta1^t)
  float inverse_root_correction;  // 1 / sqrt(1 - beta2^t)
  float epsilon, weight_decay;
};

// Scores of `rows` queries (which a draw's rows are) against `keys` keys, as one head sees them:
// products of queries and keys that count times `scale`. Rows are `stride` apart, a multiple of
// kScoreMultiple; what lies between keys and stride is ignored and left zero.
struct ScoreBlock {
  uint32_t head;
  int64_t rows, keys, stride;
  float scale;
};

// The inner loops of the fp32 CPU kernels, over raw row-major memory, on the calling thread. The
// same sources are compiled once for each instruction set; results differ between them only by
// rounding, dropout decisions not at all. Rows are `columns` apart unless a stride is given.
struct CpuLoops {
  const char* instruction_set;

  // y += x; y = x.
  void (*add)(const float* x, float* y, int64_t count);
  void (*copy)(const float* x, float* y, int64_t count);
  // To bf16, to nearest, ties to even, and back.
  void (*to_bf16)(const float* x, uint16_t* y, int64_t count);
  void (*from_bf16)(const uint16_t* x, float* y, int64_t count);
  // totals += x, in double.
  void (*add_to_double)(const float* x, double* totals, int64_t count);
  double (*sum)(const float* x, int64_t count);
  double (*sum_of_squares)(const float* x, int64_t count);
  // sums[c] += x[r][c] over all rows.
  void (*column_sums)(const float* x, int64_t rows, int64_t stride, int64_t columns, float* sums);

  // By Activation's order: kGelu, kGeluTanh, kRelu, kTanh.
  void (*activation_forward[4])(const float* pre, float* y, int64_t count);    // y may be pre
  void (*activation_backward[4])(const float* pre, float* dy, int64_t count);  // in place

  // y = factor * x, row r of x counting as first_row + tokens[r], or + r.
  void (*dropout)(const float* x, const DropoutDraw& draw, int64_t rows, int64_t columns, float* y);

  void (*layer_norm_forward)(const float* x, const float* gamma, const float* beta, float epsilon,
                             int64_t rows, int64_t columns, float* y, float* mean, float* rstd);
  // y again, of the mean and rstd that were written.
  void (*layer_norm_recompute)(const float* x, const float* gamma, const float* beta,
                               const float* mean, const float* rstd, int64_t rows, int64_t columns,
                               float* y);
  // sum = residual + dropout(x), then as above.
  void (*add_layer_norm_forward)(const float* x, const float* residual, const DropoutDraw* draw,
                                 const float* gamma, const float* beta, float epsilon, int64_t rows,
                                 int64_t columns, float* sum, float* y, float* mean, float* rstd);
  // dx overwritten (null: not wanted), dgamma and dbeta added to (scratch of the caller, not null).
  void (*layer_norm_backward)(const float* dy, const float* x, const float* gamma,
                              const float* mean, const float* rstd, int64_t rows, int64_t columns,
                              float* dx, float* dgamma, float* dbeta);

  // y[c] = word[c] + position[c] + type[c]; type may be null.
  void (*embedding)(const float* word, const float* position, const float* type, int64_t columns,
                    float* y);

  // Scores become the dropped probabilities; log_sum_exp is written with stride log_stride.
  void (*attention_softmax)(float* scores, const ScoreBlock& block, const DropoutDraw* draw,
                            float* log_sum_exp, int64_t log_stride);
  // The same probabilities again, dropped, into `scores`; dprobabilities, the gradient of what they
  // became, turns into that of the scores. delta [rows]: dot(dout, out) of each row.
  void (*attention_softmax_backward)(float* scores, float* dprobabilities, const ScoreBlock& block,
                                     const DropoutDraw* draw, const float* log_sum_exp,
                                     int64_t log_stride, const float* delta);
  float (*dot)(const float* x, const float* y, int64_t count);

  // max over x; then the sum of exp(x - max).
  float (*maximum)(const float* x, int64_t count);
  double (*sum_of_exp)(const float* x, float max, int64_t count);
  // y = exp(x - log_sum_exp)
  void (*softmax)(const float* x, float log_sum_exp, int64_t count, float* y);

  // One AdamW step; zeroes g. Returns whether a moment may be other than 0 now.
  bool (*adamw)(float* w, float* g, float* m, float* v, int64_t count, const AdamWFactors& factors);
  void (*decay)(float* w, int64_t count, float keep);  // the same where g, m and v are zeros
  // g becomes LAMB's step before it is scaled; its sum of squares is returned.
  double (*lamb_direction)(const float* w, float* g, float* m, float* v, int64_t count,
                           const LambFactors& factors);
  void (*lamb_apply)(float* w, float* g, int64_t count, float rate);  // w -= rate * g; g = 0
};

inline constexpr int64_t kScoreMultiple = 16;

// One table per compilation of the loops; avx2 and avx512 exist on x86-64 only.
namespace baseline {
extern const CpuLoops loops;
}
namespace avx2 {
extern const CpuLoops loops;
}
namespace avx512 {
extern const CpuLoops loops;
}

}  // namespace berth
