#include "trainer/cpu/kernels/kernels.h"

namespace berth {

void Kernels::embedding_forward(const EmbeddingIds& ids, const EmbeddingTables& tables, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "embedding_forward", 4 * bytes_of({y}));
  const int64_t hidden = y.columns();
  assert(tables.word.columns() == hidden);
  // The row of a table that token t takes. null if the model lacks the table.
  const auto row_of = [hidden](ConstTensor table, ConstTensor rows, int64_t t) -> const float* {
    if (!table) return nullptr;
    const int64_t row = rows.i32()[t];
    assert(row >= 0 && row < table.rows());
    return table.f32() + row * hidden;
  };
  parallel(y.rows(), row_grain(hidden), [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      const float* const of_word = row_of(tables.word, ids.words, t);
      const float* const of_position = row_of(tables.position, ids.positions, t);
      const float* const of_type = row_of(tables.type, ids.types, t);
      float* const sum = y.f32() + t * hidden;
      if (of_position != nullptr) {
        loops_.embedding(of_word, of_position, of_type, hidden, sum);
      } else if (of_type != nullptr) {
        loops_.embedding(of_word, of_type, nullptr, hidden, sum);
      } else {
        loops_.copy(of_word, sum, hidden);
      }
    }
  });
}

// Each thread has columns of its own and adds the tokens in order. A row that occurs twice is
// therefore summed in the same order for any number of threads.
void Kernels::embedding_backward(ConstTensor dy, const EmbeddingIds& ids, PaddingRows padding,
                                 const EmbeddingGradients& gradients) {
  const ProfileScope scope(pool_.profiler(), "embedding_backward", 3 * bytes_of({dy}));
  const int64_t tokens = dy.rows(), hidden = dy.columns();
  constexpr int64_t kCacheLine = 16;
  const int64_t lines = (hidden + kCacheLine - 1) / kCacheLine;
  const int64_t grain = std::max<int64_t>(1, 2 * row_grain(kCacheLine) / (tokens + 1));
  for (int64_t t = 0; gradients.word_marks && t < tokens; ++t) {
    const int64_t row = ids.words.i32()[t];
    if (row != padding.word) gradients.word_marks.i32()[row] |= kHasGradient;
  }
  const auto add_rows = [&](ConstTensor rows, Tensor table, int64_t skipped, int64_t column,
                            int64_t columns) {
    if (!table) return;
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t row = rows.i32()[t];
      assert(row >= 0 && row < table.rows());
      if (row == skipped) continue;
      loops_.add(dy.f32() + t * hidden + column, table.f32() + row * hidden + column, columns);
    }
  };
  parallel(lines, grain, [&](int64_t begin, int64_t end, int) {
    const int64_t column = begin * kCacheLine;
    const int64_t columns = std::min(hidden, end * kCacheLine) - column;
    add_rows(ids.words, gradients.dword, padding.word, column, columns);
    add_rows(ids.positions, gradients.dposition, padding.position, column, columns);
    add_rows(ids.types, gradients.dtype, -1, column, columns);
  });
}

}  // namespace berth
