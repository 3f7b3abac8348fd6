#include <algorithm>
#include <cassert>
#include <cmath>

#include "trainer/cpu/kernels/adam_update.h"
#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {

namespace {

// Calls fn(values, at, count) for copies in fp32 of pieces of x's elements [begin, end).
template <typename Fn>
void for_each_piece(const CpuLoops& loops, Tensor x, int64_t begin, int64_t end, const Fn& fn) {
  constexpr int64_t kPiece = 2048;
  alignas(64) float values[kPiece];
  for (int64_t at = begin; at < end; at += kPiece) {
    const int64_t count = std::min(kPiece, end - at);
    if (x.dtype == DType::kF32) {
      std::copy_n(x.f32() + at, count, values);
    } else {
      loops.from_bf16(x.bf16() + at, values, count);
    }
    fn(values, at, count);
  }
}

}  // namespace

// Block by block in double, so that neither threads nor their number change the sum.
void Kernels::add_squares(Tensor x, StepState& state) {
  const int64_t count = x.elements(), blocks = (count + kUpdateGrain - 1) / kUpdateGrain;
  std::vector<double> sums(static_cast<size_t>(blocks));
  parallel(blocks, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i * kUpdateGrain, end_at = std::min(count, at + kUpdateGrain);
      double& sum = sums[static_cast<size_t>(i)];
      if (x.dtype == DType::kF32) {
        sum = loops_.sum_of_squares(x.f32() + at, end_at - at);
      } else {
        for_each_piece(loops_, x, at, end_at, [&](const float* values, int64_t, int64_t elements) {
          sum += loops_.sum_of_squares(values, elements);
        });
      }
    }
  });
  for (const double sum : sums) state.squares += sum;
}

// Each block row by row, so that one which is left out, or summed though it is zero, changes
// nothing.
void Kernels::add_squares_of_rows(Tensor x, Tensor marks, StepState& state) {
  const int64_t rows = marks.rows(), columns = x.elements() / rows;
  const int64_t height = std::max<int64_t>(1, kUpdateGrain / columns);
  const int64_t blocks = (rows + height - 1) / height;
  assert(columns * rows == x.elements());
  std::vector<double> sums(static_cast<size_t>(blocks));
  parallel(blocks, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin * height; r < std::min(rows, end * height); ++r) {
      if ((marks.i32()[r] & kHasGradient) == 0) continue;
      sums[static_cast<size_t>(r / height)] +=
          loops_.sum_of_squares(x.f32() + r * columns, columns);
    }
  });
  for (const double sum : sums) state.squares += sum;
}

void Kernels::finish_gradients(float max_grad_norm, StepState& state) {
  StepState& cpu = state;
  const double mean = cpu.examples > 0 ? 1 / cpu.examples : 0;
  cpu.grad_norm = std::sqrt(cpu.squares) * mean;
  const bool clips = max_grad_norm > 0 && cpu.grad_norm > static_cast<double>(max_grad_norm);
  const double clip = clips ? static_cast<double>(max_grad_norm) / cpu.grad_norm : 1;
  cpu.gradient_scale = static_cast<float>(mean * clip);
}

namespace {

// Rows [begin, end) of a table [R,columns], which begins at w, g, m and v.
void update_rows(const CpuLoops& loops, int32_t* marks, int64_t begin, int64_t end, int64_t columns,
                 float* w, float* g, float* m, float* v, const AdamWFactors& factors) {
  for (int64_t r = begin; r < end;) {
    int64_t next = r;
    while (next < end && marks[next] == 0) ++next;
    loops.decay(w + r * columns, (next - r) * columns, factors.keep);
    for (r = next; r < end && marks[r] != 0; ++r) {
      const int64_t at = r * columns;
      marks[r] = loops.adamw(w + at, g + at, m + at, v + at, columns, factors) ? kHasMoments : 0;
    }
  }
}

}  // namespace

void Kernels::adamw(Tensor w, Tensor g, Tensor m, Tensor v, std::span<const UpdateRange> ranges,
                    const AdamWOptions& options, const StepState& state) {
  const StepState& cpu = state;
  int64_t total = 0;
  for (const UpdateRange& range : ranges) total += range.end - range.begin;
  // Threads share the ranges' elements, as if these stood end to end.
  parallel(total, kUpdateGrain, [&](int64_t begin, int64_t end, int) {
    int64_t passed = 0;
    for (const UpdateRange& range : ranges) {
      const int64_t from = range.begin + std::max<int64_t>(0, begin - passed);
      const int64_t to = std::min(range.end, range.begin + end - passed);
      passed += range.end - range.begin;
      if (from >= to) continue;
      const AdamWFactors factors = adamw_factors(range, options, cpu.inputs, cpu.gradient_scale);
      if (range.gradient) {
        for_each_piece(loops_, range.gradient, from - range.begin, to - range.begin,
                       [&](float* values, int64_t piece, int64_t elements) {
                         const int64_t at = range.begin + piece;
                         loops_.adamw(w.f32() + at, values, m.f32() + at, v.f32() + at, elements,
                                      factors);
                       });
        continue;
      }
      if (!range.marks) {
        loops_.adamw(w.f32() + from, g.f32() + from, m.f32() + from, v.f32() + from, to - from,
                     factors);
        continue;
      }
      // A row is the thread's that has its first element.
      const int64_t columns = (range.end - range.begin) / range.marks.rows(), at = range.begin;
      update_rows(loops_, range.marks.i32(), (from - at + columns - 1) / columns,
                  (to - at + columns - 1) / columns, columns, w.f32() + at, g.f32() + at,
                  m.f32() + at, v.f32() + at, factors);
    }
  });
}

}  // namespace berth
