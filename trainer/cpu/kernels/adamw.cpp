#include <algorithm>
#include <cassert>
#include <cmath>

#include "trainer/cpu/kernels/adam_update.h"
#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {

namespace {

// Cuts the elements [begin, end) of x into pieces and calls fn(values, at, count) for each.
// `values` are fp32 copies of the `count` elements from `at` on.
template <typename Fn>
void for_each_piece(const CpuLoops& loops, ConstTensor x, int64_t begin, int64_t end,
                    const Fn& fn) {
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

// Blocks are summed in double, so the number of threads does not change the sum.
std::vector<double> Kernels::squares_of_blocks(ConstTensor x) {
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
  return sums;
}

// Each block is summed row by row, so a row of zeros changes nothing, whether it is summed or not.
std::vector<double> Kernels::squares_of_marked_rows(ConstTensor x, ConstTensor marks) {
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
  return sums;
}

void Kernels::add_squares(std::span<const Gradient> gradients, StepState& state) {
  const ProfileScope scope(pool_.profiler(), "add_squares", 0);
  std::vector<FactoredGradient> factored;
  for (const Gradient& gradient : gradients) {
    if (gradient.factors) {
      factored.push_back(gradient.factors);
      continue;
    }
    const std::vector<double> sums = gradient.marks
                                         ? squares_of_marked_rows(gradient.values, gradient.marks)
                                         : squares_of_blocks(gradient.values);
    for (const double sum : sums) state.squares += sum;
  }
  for (const double sum : squares_of_products(factored)) state.squares += sum;
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
  const ProfileScope scope(pool_.profiler(), "adamw", bytes_of(ranges));
  std::vector<UpdateRange> with_values, with_factors;
  int64_t total = 0;
  for (const UpdateRange& range : ranges) {
    (range.factors ? with_factors : with_values).push_back(range);
    if (!range.factors) total += range.w.elements();
  }
  // The threads share the elements of all ranges as if the ranges stood end to end.
  parallel(total, kUpdateGrain, [&](int64_t begin, int64_t end, int) {
    int64_t passed = 0;
    for (const UpdateRange& range : with_values) {
      const int64_t from = std::max<int64_t>(0, begin - passed);
      const int64_t to = std::min(range.w.elements(), end - passed);
      passed += range.w.elements();
      if (from >= to) continue;
      update_range(range, from, to,
                   adamw_factors(range, options, state.inputs, state.gradient_scale));
    }
  });
  adamw_of_products(with_factors, options, state);
}

}  // namespace berth
