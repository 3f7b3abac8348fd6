#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {

void Kernels::embedding_forward(Tensor input_ids, Tensor position_ids, Tensor token_type_ids,
                                Tensor word, Tensor position, Tensor type, Tensor y) {
  const int64_t hidden = y.columns();
  assert(word.columns() == hidden && (!position || position.columns() == hidden));
  const int32_t* words = input_ids.i32();
  const int32_t* positions = position ? position_ids.i32() : nullptr;
  const int32_t* types = type ? token_type_ids.i32() : nullptr;
  parallel(y.rows(), row_grain(hidden), [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      assert(words[t] >= 0 && words[t] < word.rows());
      assert(positions == nullptr || (positions[t] >= 0 && positions[t] < position.rows()));
      assert(types == nullptr || (types[t] >= 0 && types[t] < type.rows()));
      const float* of_word = word.f32() + words[t] * hidden;
      const float* of_type = types ? type.f32() + types[t] * hidden : nullptr;
      float* sum = y.f32() + t * hidden;
      if (positions) {
        loops_.embedding(of_word, position.f32() + positions[t] * hidden, of_type, hidden, sum);
      } else if (types) {
        loops_.embedding(of_word, of_type, nullptr, hidden, sum);
      } else {
        loops_.copy(of_word, sum, hidden);
      }
    }
  });
}

// Each thread has columns of its own and adds the tokens in order, so a row that occurs twice is
// summed in one order whatever the number of threads.
void Kernels::embedding_backward(Tensor dy, Tensor input_ids, Tensor position_ids,
                                 Tensor token_type_ids, PaddingRows padding, Tensor dword,
                                 Tensor word_marks, Tensor dposition, Tensor dtype) {
  const int64_t tokens = dy.rows(), hidden = dy.columns();
  constexpr int64_t kCacheLine = 16;
  const int64_t lines = (hidden + kCacheLine - 1) / kCacheLine;
  const int64_t grain = std::max<int64_t>(1, 2 * row_grain(kCacheLine) / (tokens + 1));
  for (int64_t t = 0; word_marks && t < tokens; ++t) {
    const int64_t row = input_ids.i32()[t];
    if (row != padding.word) word_marks.i32()[row] |= kHasGradient;
  }
  const auto add_rows = [&](Tensor ids, Tensor table, int64_t skipped, int64_t column,
                            int64_t columns) {
    if (!table) return;
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t row = ids.i32()[t];
      assert(row >= 0 && row < table.rows());
      if (row == skipped) continue;
      loops_.add(dy.f32() + t * hidden + column, table.f32() + row * hidden + column, columns);
    }
  };
  parallel(lines, grain, [&](int64_t begin, int64_t end, int) {
    const int64_t column = begin * kCacheLine;
    const int64_t columns = std::min(hidden, end * kCacheLine) - column;
    add_rows(input_ids, dword, padding.word, column, columns);
    add_rows(position_ids, dposition, padding.position, column, columns);
    add_rows(token_type_ids, dtype, -1, column, columns);
  });
}

}  // namespace berth
