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

namespace {

// Rows [begin, end) of a table that has marks.
void update_rows(const CpuLoops& loops, const UpdateRange& table, int64_t begin, int64_t end,
                 const AdamWFactors& factors) {
  int32_t* const marks = table.marks.i32();
  float* const w = table.w.f32();
  const int64_t columns = table.w.elements() / table.marks.rows();
  for (int64_t r = begin; r < end;) {
    int64_t next = r;
    while (next < end && marks[next] == 0) ++next;
    loops.decay(w + r * columns, (next - r) * columns, factors.keep);
    for (r = next; r < end && marks[r] != 0; ++r) {
      const int64_t at = r * columns;
      const bool has_moments = loops.adamw(w + at, table.g.f32() + at, table.m.f32() + at,
                                           table.v.f32() + at, columns, factors);
      marks[r] = has_moments ? kHasMoments : 0;
    }
  }
}

}  // namespace

// The elements [begin, end) of a range, on the calling thread.
void Kernels::update_range(const UpdateRange& range, int64_t begin, int64_t end,
                           const AdamWFactors& factors) {
  const auto update = [&](float* g, int64_t at, int64_t count) {
    loops_.adamw(range.w.f32() + at, g, range.m.f32() + at, range.v.f32() + at, count, factors);
  };
  if (!range.zeroes_gradient) {
    for_each_piece(loops_, range.g, begin, end, update);
  } else if (!range.marks) {
    update(range.g.f32() + begin, begin, end - begin);
  } else {
    // A row belongs to the thread that has its first element.
    const int64_t columns = range.w.elements() / range.marks.rows();
    update_rows(loops_, range, (begin + columns - 1) / columns, (end + columns - 1) / columns,
                factors);
  }
}

void Kernels::adamw(std::span<const UpdateRange> ranges, const AdamWOptions& options,
                    const StepState& state) {
  int64_t total = 0;
  for (const UpdateRange& range : ranges) total += range.w.elements();
  // Threads share the elements of all ranges, as if these stood end to end.
  parallel(total, kUpdateGrain, [&](int64_t begin, int64_t end, int) {
    int64_t passed = 0;
    for (const UpdateRange& range : ranges) {
      const int64_t from = std::max<int64_t>(0, begin - passed);
      const int64_t to = std::min(range.w.elements(), end - passed);
      passed += range.w.elements();
      if (from >= to) continue;
      update_range(range, from, to,
                   adamw_factors(range, options, state.inputs, state.gradient_scale));
    }
  });
}

}  // namespace berth
