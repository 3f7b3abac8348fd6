#include <algorithm>
#include <cassert>
#include <vector>

#include "trainer/cpu/kernels/adam_update.h"
#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {
namespace {

// Of a gradient, which stays in the second cache (295 KB) until it is used. As wide as most
// matrices: what it updates is read as it lies.
constexpr TileSize kUpdateTile{96, 768};
constexpr int64_t kUpdateSums = kUpdateTile.rows * kUpdateTile.columns;

// Rows of a symmetric product that are had at a time, up to the diagonal.
constexpr int64_t kGramRows = 64;

int64_t gram_sums(int64_t tokens) { return 2 * kGramRows * tokens; }

// Rows [begin, end) of x x^T, as far as column `end`.
Product gram_rows(const float* x, int64_t columns, int64_t begin, int64_t end, float* y) {
  return {.m = end - begin,
          .n = end,
          .k = columns,
          .a = {x + begin * columns, columns},
          .b = {x, columns, true},
          .c = y,
          .c_stride = end};
}

}  // namespace

FactoredGradient Kernels::in_fp32(const FactoredGradient& g, float* room) const {
  assert(g.dy.rows() == g.x.rows() && g.dy.dtype == kept_dtype() && g.x.dtype == kept_dtype());
  if (!bf16_) return g;
  FactoredGradient single = g;
  for (Tensor* each : {&single.dy, &single.x}) {
    loops_.from_bf16(each->bf16(), room, each->elements());
    each->dtype = DType::kF32;
    each->data = reinterpret_cast<std::byte*>(room);
    room += each->elements();
  }
  return single;
}

int64_t Kernels::factored_room(int64_t tokens, int64_t rows_and_columns) const {
  return std::max(gram_sums(tokens), kUpdateSums) + (bf16_ ? tokens * rows_and_columns : 0);
}

size_t Kernels::factored_scratch_bytes(int64_t tokens, int64_t rows_and_columns) const {
  return static_cast<size_t>(pool_.size() * factored_room(tokens, rows_and_columns)) *
         sizeof(float);
}

// Makes room in factored_ for each thread, and returns how much that is.
int64_t Kernels::make_factored_room(int64_t tokens, int64_t rows_and_columns) {
  const int64_t room = factored_room(tokens, rows_and_columns);
  const auto all = static_cast<size_t>(pool_.size() * room);
  if (factored_.size() < all) factored_.resize(all);
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
  return squares < 0 ? 0 : squares;  // by rounding; NaN stays
}

void Kernels::add_squares_of_products(std::span<const FactoredGradient> gradients,
                                      StepState& state) {
  int64_t tokens = 0, widest = 0;
  for (const FactoredGradient& g : gradients) {
    tokens = std::max(tokens, g.dy.rows());
    widest = std::max(widest, g.dy.columns() + g.x.columns());
  }
  const int64_t room = make_factored_room(tokens, widest);
  std::vector<double> squares(gradients.size());
  parallel(static_cast<int64_t>(gradients.size()), 1, [&](int64_t begin, int64_t end, int thread) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      squares[i] = squares_of(gradients[i], factored_.data() + thread * room, thread);
    }
  });
  for (const double each : squares) state.squares += each;
}

void Kernels::update_matrix(const FactoredUpdate& update, int64_t begin, int64_t end,
                            const AdamWFactors& factors, float* room, int thread) {
  const FactoredGradient g = in_fp32(update.gradient, room + kUpdateSums);
  float* const w = update.range.w.f32();
  float* const m = update.range.m.f32();
  float* const v = update.range.v.f32();
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
  if (bf16_) {
    bf16_->multiply_in_tiles(product, kUpdateTile, room, thread, use);
  } else {
    multiply_in_tiles(product, kUpdateTile, room, use);
  }
}

void Kernels::adamw_of_products(std::span<const FactoredUpdate> updates,
                                const AdamWOptions& options, const StepState& state) {
  int64_t tokens = 0, widest = 0, total = 0;
  for (const FactoredUpdate& update : updates) {
    const FactoredGradient& g = update.gradient;
    tokens = std::max(tokens, g.dy.rows());
    widest = std::max(widest, g.dy.columns() + g.x.columns());
    total += update.range.w.elements();
    assert(update.range.w.elements() == g.dy.columns() * g.x.columns());
  }
  const int64_t room = make_factored_room(tokens, widest);
  // Threads share the elements, as if matrices stood end to end; a strip of rows is the thread's
  // that has its first element.
  parallel(total, kUpdateGrain, [&](int64_t begin, int64_t end, int thread) {
    int64_t passed = 0;
    for (const FactoredUpdate& update : updates) {
      const int64_t rows = update.gradient.dy.columns(), columns = update.gradient.x.columns();
      const int64_t strip = kUpdateTile.rows * columns;
      const auto first_row = [&](int64_t element) {
        const int64_t strips = (std::max<int64_t>(0, element - passed) + strip - 1) / strip;
        return std::min(rows, strips * kUpdateTile.rows);
      };
      const int64_t from = first_row(begin), to = first_row(end);
      passed += rows * columns;
      if (from >= to) continue;
      const AdamWFactors factors =
          adamw_factors(update.range, options, state.inputs, state.gradient_scale);
      update_matrix(update, from, to, factors, factored_.data() + thread * room, thread);
    }
  });
}

}  // namespace berth
