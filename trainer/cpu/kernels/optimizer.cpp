#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <vector>

#include "trainer/cpu/kernels/dropout.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/loops.h"

namespace berth {
namespace {

// Elements of a parameter that a thread takes at a time; sums go over blocks of as many.
inline constexpr int64_t kUpdateGrain = 16384;

// The divisors that remove the bias of the two moments, which started from zeros: 1 - beta^t after
// t updates (Kingma and Ba 2015, arXiv:1412.6980).
struct BiasCorrection {
  BiasCorrection(const AdamWOptions& options, uint64_t steps_before)
      : first(1 -
              std::pow(static_cast<double>(options.beta1), static_cast<double>(steps_before + 1))),
        second(1 - std::pow(static_cast<double>(options.beta2),
                            static_cast<double>(steps_before + 1))) {}

  double first, second;
};

// The factors of one AdamW update of a range; `gradient_scale` is the result of
// StepState::finish_gradients().
inline AdamWFactors adamw_factors(const UpdateRange& range, const AdamWOptions& options,
                                  const UpdateInputs& inputs, float gradient_scale) {
  const BiasCorrection correction(options, inputs.step);
  const double rate =
      static_cast<double>(inputs.learning_rate) * static_cast<double>(range.rate_scale);
  return {.gradient_scale = gradient_scale,
          .keep = static_cast<float>(1 - rate * static_cast<double>(range.weight_decay)),
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .step_size = static_cast<float>(rate / correction.first),
          .inverse_root_correction = static_cast<float>(1 / std::sqrt(correction.second)),
          .epsilon = options.epsilon};
}

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
    // Runs of rows without a mark only decay; a row with a mark is updated as a whole.
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

namespace {

// A tile of a gradient (295 KB) stays in the second-level cache until it is used. It is as wide as
// most matrices, so the parameters that it updates are read in the order in which they lie.
constexpr TileSize kUpdateTile{96, 768};
constexpr int64_t kUpdateSums = kUpdateTile.rows * kUpdateTile.columns;

// Scratch memory is handed out in whole cache lines. If the sums that the update reads and clears
// crossed cache lines, a step would take 5 % longer.
constexpr int64_t kLineOfFloats = 64 / sizeof(float);

// Rows of a symmetric product that are computed at a time, up to the diagonal.
constexpr int64_t kGramRows = 64;

int64_t gram_sums(int64_t tokens) { return 2 * kGramRows * tokens; }

// Rows [begin, end) of x x^T, up to column `end`.
Product gram_rows(const float* x, int64_t columns, int64_t begin, int64_t end, float* y) {
  return {.m = end - begin,
          .n = end,
          .k = columns,
          .a = {x + begin * columns, columns},
          .b = {x, columns, true},
          .c = y,
          .c_stride = end};
}

// Enlarges the extent so that it also covers the gradient.
void include(const FactoredGradient& gradient, FactoredExtent& extent) {
  extent.tokens = std::max(extent.tokens, gradient.dy.rows());
  extent.rows_and_columns =
      std::max(extent.rows_and_columns, gradient.dy.columns() + gradient.x.columns());
}

}  // namespace

FactoredGradient Kernels::in_fp32(const FactoredGradient& g, float* room) const {
  assert(g.dy.rows() == g.x.rows() && g.dy.dtype == product_dtype() &&
         g.x.dtype == product_dtype());
  if (!bf16_) return g;
  FactoredGradient single = g;
  for (ConstTensor* each : {&single.dy, &single.x}) {
    loops_.from_bf16(each->bf16(), room, each->elements());
    each->dtype = DType::kF32;
    each->data = reinterpret_cast<const std::byte*>(room);
    room += each->elements();
  }
  return single;
}

int64_t Kernels::factored_room(const FactoredExtent& extent) const {
  if (extent.rows_and_columns == 0) return 0;
  const int64_t room = std::max(gram_sums(extent.tokens), kUpdateSums) +
                       (bf16_ ? extent.tokens * extent.rows_and_columns : 0);
  return (room + kLineOfFloats - 1) / kLineOfFloats * kLineOfFloats;
}

// Makes room in factored_ for each thread, and returns the elements that each has.
int64_t Kernels::make_factored_room(const FactoredExtent& extent) {
  const int64_t room = factored_room(extent);
  const size_t size_bytes = static_cast<size_t>(pool_.size() * room) * sizeof(float);
  if (factored_.size_bytes() < size_bytes) factored_ = Memory(size_bytes);
  return room;
}

double Kernels::squares_of(const FactoredGradient& g, float* room, int thread) {
  const int64_t tokens = g.dy.rows();
  float* const of_dy = room;
  float* const of_x = of_dy + kGramRows * tokens;
  const FactoredGradient single = in_fp32(g, room + gram_sums(tokens));
  double squares = 0;
  // |dy^T x|^2 is the sum of dy dy^T * x x^T, which are [T,T] and symmetric. Rows [begin, end) are
  // computed up to column `end`. Elements left of the diagonal block count twice.
  for (int64_t begin = 0; begin < tokens; begin += kGramRows) {
    const int64_t end = std::min(tokens, begin + kGramRows);
    multiply_alone(gram_rows(single.dy.f32(), g.dy.columns(), begin, end, of_dy), thread);
    multiply_alone(gram_rows(single.x.f32(), g.x.columns(), begin, end, of_x), thread);
    double off_diagonal = 0, diagonal = 0;
    for (int64_t row = 0; row < end - begin; ++row) {
      const float* const a = of_dy + row * end;
      const float* const b = of_x + row * end;
      off_diagonal += static_cast<double>(loops_.dot(a, b, begin));
      diagonal += static_cast<double>(loops_.dot(a + begin, b + begin, end - begin));
    }
    squares += 2 * off_diagonal + diagonal;
  }
  return squares < 0 ? 0 : squares;  // rounding may make it negative; NaN stays NaN
}

std::vector<double> Kernels::squares_of_products(std::span<const FactoredGradient> gradients) {
  FactoredExtent extent;
  for (const FactoredGradient& gradient : gradients) include(gradient, extent);
  const int64_t room = make_factored_room(extent);
  std::vector<double> squares(gradients.size());
  parallel(static_cast<int64_t>(gradients.size()), 1, [&](int64_t begin, int64_t end, int thread) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      squares[i] = squares_of(gradients[i], room_of(thread, room), thread);
    }
  });
  return squares;
}

void Kernels::update_matrix(const UpdateRange& range, int64_t begin, int64_t end,
                            const AdamWFactors& factors, float* room, int thread) {
  const FactoredGradient g = in_fp32(range.factors, room + kUpdateSums);
  float* const w = range.w.f32();
  float* const m = range.m.f32();
  float* const v = range.v.f32();
  const int64_t outputs = g.dy.columns(), inputs = g.x.columns();
  // Takes a tile of dw while it is in the cache, and never writes it to memory.
  const auto use = [&](const Tile& tile, float* sums) {
    for (int64_t row = 0; row < tile.rows; ++row) {
      const int64_t at = (begin + tile.row + row) * inputs + tile.column;
      loops_.adamw(w + at, sums + row * tile.columns, m + at, v + at, tile.columns, factors);
    }
  };
  // dw [end - begin,K] = dy[:, begin:end]^T x [T,K].
  const Product product{.m = end - begin,
                        .n = inputs,
                        .k = g.dy.rows(),
                        .a = {g.dy.f32() + begin, outputs, true},
                        .b = {g.x.f32(), inputs},
                        .c = nullptr,
                        .c_stride = inputs};
  count(product, thread);
  if (bf16_) {
    bf16_->multiply_in_tiles(product, kUpdateTile, room, thread, use);
  } else {
    multiply_in_tiles(product, kUpdateTile, room, use);
  }
}

void Kernels::adamw_of_products(std::span<const UpdateRange> ranges, const AdamWOptions& options,
                                const StepState& state) {
  FactoredExtent extent;
  int64_t total = 0;
  for (const UpdateRange& range : ranges) {
    include(range.factors, extent);
    total += range.w.elements();
    assert(range.w.elements() == range.factors.dy.columns() * range.factors.x.columns());
  }
  const int64_t room = make_factored_room(extent);
  // The threads share the elements as if the matrices stood end to end. A strip of rows belongs to
  // the thread that has its first element.
  parallel(total, kUpdateGrain, [&](int64_t begin, int64_t end, int thread) {
    int64_t passed = 0;
    for (const UpdateRange& range : ranges) {
      const int64_t rows = range.factors.dy.columns(), columns = range.factors.x.columns();
      const int64_t strip = kUpdateTile.rows * columns;
      const auto first_row = [&](int64_t element) {
        const int64_t strips = (std::max<int64_t>(0, element - passed) + strip - 1) / strip;
        return std::min(rows, strips * kUpdateTile.rows);
      };
      const int64_t from = first_row(begin), to = first_row(end);
      passed += rows * columns;
      if (from >= to) continue;
      const AdamWFactors factors =
          adamw_factors(range, options, state.inputs, state.gradient_scale);
      update_matrix(range, from, to, factors, room_of(thread, room), thread);
    }
  });
}

namespace {

// The factor by which LAMB scales a step: the norm of the weights divided by the norm of the step.
// It is 1 if the range does not adapt, or if one of the norms is 0.
double trust_ratio(const UpdateRange& range, const LambSquares& squares) {
  if (!range.adapts || squares.weights <= 0 || squares.steps <= 0) return 1;
  return std::sqrt(squares.weights / squares.steps);
}

}  // namespace

// Sums are made block by block, so that they do not depend on the number of threads.
LambSquares Kernels::lamb_direction(const UpdateRange& range, const AdamWOptions& options,
                                    const StepState& state) {
  const BiasCorrection correction(options, state.inputs.step);
  float* const w = range.w.f32();
  float* const g = range.g.f32();
  const LambFactors factors{
      .gradient_scale = state.gradient_scale,
      .beta1 = options.beta1,
      .beta2 = options.beta2,
      .correction = static_cast<float>(1 / correction.first),
      .inverse_root_correction = static_cast<float>(1 / std::sqrt(correction.second)),
      .epsilon = options.epsilon,
      .weight_decay = range.weight_decay};
  const int64_t count = range.w.elements();
  const int64_t blocks = (count + kUpdateGrain - 1) / kUpdateGrain;
  // In the place of g: the step u = m_hat / (sqrt(v_hat) + epsilon) + decay w. Then |w|^2 and
  // |u|^2.
  std::vector<LambSquares> of_blocks(static_cast<size_t>(blocks));
  parallel(blocks, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t at = block * kUpdateGrain;
      const int64_t size = std::min(kUpdateGrain, count - at);
      LambSquares& squares = of_blocks[static_cast<size_t>(block)];
      squares.weights = loops_.sum_of_squares(w + at, size);
      squares.steps = loops_.lamb_direction(w + at, g + at, range.m.f32() + at, range.v.f32() + at,
                                            size, factors);
    }
  });
  LambSquares total;
  for (const LambSquares& squares : of_blocks) {
    total.weights += squares.weights;
    total.steps += squares.steps;
  }
  return total;
}

void Kernels::lamb_apply(const UpdateRange& range, const LambSquares& squares,
                         const StepState& state) {
  const double rate = static_cast<double>(state.inputs.learning_rate) *
                      static_cast<double>(range.rate_scale) * trust_ratio(range, squares);
  parallel(range.w.elements(), kUpdateGrain, [&](int64_t begin, int64_t end, int) {
    loops_.lamb_apply(range.w.f32() + begin, range.g.f32() + begin, end - begin,
                      static_cast<float>(rate));
  });
}

void Kernels::lamb(std::span<const UpdateRange> ranges, const AdamWOptions& options,
                   const StepState& state) {
  const ProfileScope scope(pool_.profiler(), "lamb", bytes_of(ranges));
  for (const UpdateRange& range : ranges) {
    lamb_apply(range, lamb_direction(range, options, state), state);
  }
}

}  // namespace berth
