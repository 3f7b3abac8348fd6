#include "trainer/cpu/kernels/loops/families.h"
#include "trainer/cpu/kernels/loops/functions.h"
#include "trainer/cpu/kernels/loops/philox_lanes.h"

namespace berth::BERTH_LOOPS {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();

void fill(float* x, int64_t count, float value) {
  for (int64_t i = 0; i < count; ++i) x[i] = value;
}

int64_t whole_vectors(int64_t keys) {
  return (keys + kScoreMultiple - 1) / kScoreMultiple * kScoreMultiple;
}

}  // namespace

float maximum(const float* x, int64_t count) {
  float max = kMinusInfinity;
#pragma omp simd reduction(max : max)
  for (int64_t i = 0; i < count; ++i) max = x[i] > max ? x[i] : max;
  return max;
}

double sum_of_exp(const float* x, float max, int64_t count) {
  constexpr int64_t kPart = 1024;  // blocks of a long row (a vocabulary) are added in double
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kPart) {
    const int64_t end = begin + kPart < count ? begin + kPart : count;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += exponential(x[i] - max);
    total += static_cast<double>(sum);
  }
  return total;
}

void softmax(const float* x, float log_sum_exp, int64_t count, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = exponential(x[i] - log_sum_exp);
}

void attention_softmax(float* scores, const ScoreBlock& block, const DropoutDraw* draw,
                       float* log_sum_exp, int64_t log_stride) {
  // The loops take whole vectors. Elements after the keys count as exp(-inf) = 0.
  const int64_t padded = whole_vectors(block.keys);
  const float scale = block.scale;
  for (int64_t r = 0; r < block.rows; ++r) {
    float* row = scores + r * block.stride;
    // 1. The maximum of the scaled scores.
    fill(row + block.keys, padded - block.keys, kMinusInfinity);
    const float max = maximum(row, padded) * scale;
    // 2. Exponentials and their sum.
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < padded; ++k) {
      row[k] = exponential(row[k] * scale - max);
      sum += row[k];
    }
    // 3. Probabilities: divided by the sum and, where there is dropout, times 0 or 1/(1-p).
    log_sum_exp[r * log_stride] = max + __builtin_logf(sum);
    const float inverse = 1.0f / sum;
    if (draw == nullptr) {
#pragma omp simd
      for (int64_t k = 0; k < padded; ++k) row[k] *= inverse;
      continue;
    }
    const uint64_t counter = counter_of(*draw, r);
    for (int64_t begin = 0; begin < padded; begin += kDraws) {
      float factors[kDraws];
      const auto eight = static_cast<uint32_t>((block.first_key + begin) / 8);
      draw_factors(*draw, counter, block.head, eight, factors);
      const int64_t count = padded - begin < kDraws ? padded - begin : kDraws;
      float* part = row + begin;
#pragma omp simd
      for (int64_t k = 0; k < count; ++k) part[k] *= inverse * factors[k];
    }
  }
}

// Let P be the probabilities and F the factors of dropout, so that forward multiplied the values by
// PF. Then dscores = P (F dPF - delta), where delta = sum over keys of PF dPF = dot(dout, out).
void attention_softmax_backward(float* scores, float* dprobabilities, const ScoreBlock& block,
                                const DropoutDraw* draw, const float* log_sum_exp,
                                int64_t log_stride, const float* delta) {
  const int64_t padded = whole_vectors(block.keys);
  const float scale = block.scale;
  for (int64_t r = 0; r < block.rows; ++r) {
    float* row = scores + r * block.stride;
    float* drow = dprobabilities + r * block.stride;
    fill(row + block.keys, padded - block.keys, kMinusInfinity);
    fill(drow + block.keys, padded - block.keys, 0.0f);
    const float log_sum = log_sum_exp[r * log_stride];
    const float row_delta = delta[r];
    if (draw == nullptr) {
#pragma omp simd
      for (int64_t k = 0; k < padded; ++k) {
        // Without dropout F is 1. `row` becomes P, and `drow` the gradient of the unscaled scores.
        const float p = exponential(row[k] * scale - log_sum);
        row[k] = p;
        drow[k] = p * (drow[k] - row_delta) * scale;
      }
      continue;
    }
    const uint64_t counter = counter_of(*draw, r);
    for (int64_t begin = 0; begin < padded; begin += kDraws) {
      float factors[kDraws];
      const auto eight = static_cast<uint32_t>((block.first_key + begin) / 8);
      draw_factors(*draw, counter, block.head, eight, factors);
      const int64_t count = padded - begin < kDraws ? padded - begin : kDraws;
      float* part = row + begin;
      float* dpart = drow + begin;
#pragma omp simd
      for (int64_t k = 0; k < count; ++k) {
        const float p = exponential(part[k] * scale - log_sum);
        part[k] = p * factors[k];
        dpart[k] = p * (dpart[k] * factors[k] - row_delta) * scale;
      }
    }
  }
}

}  // namespace berth::BERTH_LOOPS
