#pragma once

#include <cstdint>

namespace berth {

// A Dropout as the loops need it, computed from the argument of an operation and from the state of
// the step. A null pointer to one means that nothing is dropped.
struct DropoutDraw {
  uint32_t key[2];        // philox_key(seed, step, site)
  uint64_t first_row;     // the number of the first row that is handed over
  const int32_t* tokens;  // each row's distance from first_row; null: rows follow one another
  uint32_t threshold;     // a 16-bit draw below this drops the element
  float scale;            // by which elements that stay are multiplied
};

// The factors of one AdamW update, the same for all elements of a range.
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

// The scores of `rows` queries against `keys` keys, as one head sees them. The softmax takes each
// score times `scale`. Rows of scores are `stride` apart, a multiple of kScoreMultiple. The
// elements between keys and stride are ignored, and are zero afterwards. A draw counts its rows by
// query, and its columns by key from first_key on, a multiple of 8.
struct ScoreBlock {
  uint32_t head;
  int64_t rows, keys, stride;
  float scale;
  int64_t first_key = 0;
};

// The inner loops of the fp32 kernels. They work on raw row-major memory and on the calling thread.
// The same sources are compiled once for each instruction set. The results differ between
// instruction sets by rounding only, and decisions of dropout do not differ. Rows are `columns`
// apart unless a stride is given.
struct CpuLoops {
  const char* instruction_set;

  // y += x; y = x.
  void (*add)(const float* x, float* y, int64_t count);
  void (*copy)(const float* x, float* y, int64_t count);
  // Conversion to bf16, rounded to nearest with ties to even, and back.
  void (*to_bf16)(const float* x, uint16_t* y, int64_t count);
  void (*from_bf16)(const uint16_t* x, float* y, int64_t count);
  // totals += x, in double.
  void (*add_to_double)(const float* x, double* totals, int64_t count);
  double (*sum)(const float* x, int64_t count);
  double (*sum_of_squares)(const float* x, int64_t count);
  // sums[c] += x[r][c] over all rows.
  void (*column_sums)(const float* x, int64_t rows, int64_t stride, int64_t columns, float* sums);

  // In the order of Activation: kGelu, kGeluTanh, kRelu, kTanh, kSilu.
  void (*activation_forward[5])(const float* pre, float* y, int64_t count);    // y may be pre
  void (*activation_backward[5])(const float* pre, float* dy, int64_t count);  // in place

  // y = factor * x. The number of row r is first_row + tokens[r], or first_row + r without tokens.
  void (*dropout)(const float* x, const DropoutDraw& draw, int64_t rows, int64_t columns, float* y);

  void (*layer_norm_forward)(const float* x, const float* gamma, const float* beta, float epsilon,
                             int64_t rows, int64_t columns, float* y, float* mean, float* rstd);
  // Recomputes y from the mean and rstd that forward wrote.
  void (*layer_norm_recompute)(const float* x, const float* gamma, const float* beta,
                               const float* mean, const float* rstd, int64_t rows, int64_t columns,
                               float* y);
  // sum = residual + dropout(x), then as above.
  void (*add_layer_norm_forward)(const float* x, const float* residual, const DropoutDraw* draw,
                                 const float* gamma, const float* beta, float epsilon, int64_t rows,
                                 int64_t columns, float* sum, float* y, float* mean, float* rstd);
  // Overwrites dx, which is null where it is not wanted. Adds to dgamma and dbeta.
  void (*layer_norm_backward)(const float* dy, const float* x, const float* gamma,
                              const float* mean, const float* rstd, int64_t rows, int64_t columns,
                              float* dx, float* dgamma, float* dbeta);

  // y[c] = word[c] + position[c] + type[c]; type may be null.
  void (*embedding)(const float* word, const float* position, const float* type, int64_t columns,
                    float* y);

  // Scores become the dropped probabilities; log_sum_exp is written with stride log_stride.
  void (*attention_softmax)(float* scores, const ScoreBlock& block, const DropoutDraw* draw,
                            float* log_sum_exp, int64_t log_stride);
  // Recomputes the dropped probabilities in place of the scores. dprobabilities is the gradient of
  // the dropped probabilities, and becomes the gradient of the scores. delta [rows] is dot(dout,
  // out) of each row.
  void (*attention_softmax_backward)(float* scores, float* dprobabilities, const ScoreBlock& block,
                                     const DropoutDraw* draw, const float* log_sum_exp,
                                     int64_t log_stride, const float* delta);
  float (*dot)(const float* x, const float* y, int64_t count);

  // The largest element, and the sum of exp(x - max).
  float (*maximum)(const float* x, int64_t count);
  double (*sum_of_exp)(const float* x, float max, int64_t count);
  // y = exp(x - log_sum_exp)
  void (*softmax)(const float* x, float log_sum_exp, int64_t count, float* y);

  // One AdamW step, after which g is zero. Returns whether a moment may differ from 0 afterwards.
  bool (*adamw)(float* w, float* g, float* m, float* v, int64_t count, const AdamWFactors& factors);
  void (*decay)(float* w, int64_t count, float keep);  // an AdamW step where g, m and v are zero
  // Replaces g with LAMB's step before the step is scaled, and returns the step's sum of squares.
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
