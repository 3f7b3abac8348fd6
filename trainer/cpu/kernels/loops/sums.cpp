#include "trainer/cpu/kernels/loops/families.h"

namespace berth::BERTH_LOOPS {

void add(const float* x, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += x[i];
}

void copy(const float* x, float* y, int64_t count) {
  __builtin_memcpy(y, x, static_cast<unsigned long>(count) * sizeof(float));
}

void to_bf16(const float* x, uint16_t* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = __builtin_bit_cast(uint32_t, x[i]);
    const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const uint32_t quiet = bits >> 16 | 0x40;  // NaN may have low bits only; 0x40 keeps it NaN
    y[i] = static_cast<uint16_t>(x[i] != x[i] ? quiet : nearest);
  }
}

void from_bf16(const uint16_t* x, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    y[i] = __builtin_bit_cast(float, static_cast<uint32_t>(x[i]) << 16);
  }
}

void add_to_double(const float* x, double* totals, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) totals[i] += static_cast<double>(x[i]);
}

namespace {

constexpr int64_t kSums = 32;  // independent sums; a single one would wait for each addition

double total(const double* sums) {
  double sum = 0;
  for (int64_t lane = 0; lane < kSums; ++lane) sum += sums[lane];
  return sum;
}

}  // namespace

double sum(const float* x, int64_t count) {
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) add_to_double(x + i, sums, kSums);
  double rest = 0;
  for (; i < count; ++i) rest += static_cast<double>(x[i]);
  return total(sums) + rest;
}

double sum_of_squares(const float* x, int64_t count) {
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
#pragma omp simd
    for (int64_t lane = 0; lane < kSums; ++lane) {
      const double value = static_cast<double>(x[i + lane]);
      sums[lane] += value * value;
    }
  }
  double sum = total(sums);
  for (; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

float dot(const float* x, const float* y, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += x[i] * y[i];
  return sum;
}

void column_sums(const float* x, int64_t rows, int64_t stride, int64_t columns, float* sums) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {  // each pass over the sums takes four rows
    const float* x0 = x + r * stride;
    const float* x1 = x0 + stride;
    const float* x2 = x1 + stride;
    const float* x3 = x2 + stride;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) sums[c] += (x0[c] + x1[c]) + (x2[c] + x3[c]);
  }
  for (; r < rows; ++r) add(x + r * stride, sums, columns);
}

void embedding(const float* word, const float* position, const float* type, int64_t columns,
               float* y) {
  if (type == nullptr) {
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) y[c] = word[c] + position[c];
    return;
  }
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) y[c] = (word[c] + position[c]) + type[c];
}

}  // namespace berth::BERTH_LOOPS
