#include <algorithm>
#include <cassert>
#include <vector>

#include "trainer/cpu/kernels/adam_update.h"
#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {
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
  const auto use = [&](const Tile& tile, float* sums) {
    for (int64_t row = 0; row < tile.rows; ++row) {
      const int64_t at = (begin + tile.row + row) * inputs + tile.column;
      loops_.adamw(w + at, sums + row * tile.columns, m + at, v + at, tile.columns, factors);
    }
  };
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

}  // namespace berth
