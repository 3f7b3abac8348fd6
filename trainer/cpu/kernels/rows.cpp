#include <algorithm>
#include <cassert>
#include <cstring>

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
      if (tables.shared) loops_.add(tables.shared.f32(), sum, hidden);
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
  // Marks first, on one thread: a row is marked if any token reads it.
  for (int64_t t = 0; gradients.word_marks && t < tokens; ++t) {
    const int64_t row = ids.words.i32()[t];
    if (row != padding.word) gradients.word_marks.i32()[row] |= kHasGradient;
  }
  const auto add_rows = [&](ConstTensor rows, Tensor table, int64_t skipped, int64_t column,
                            int64_t columns) {
    if (!table) return;
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t row = rows ? rows.i32()[t] : 0;
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
    add_rows(/*rows=*/{}, gradients.dshared, -1, column, columns);
  });
}

void Kernels::gather_rows(ConstTensor x, ConstTensor rows, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "gather_rows", 2 * bytes_of({y}));
  assert(x.dtype == y.dtype && x.columns() == y.columns());
  const size_t row_bytes = static_cast<size_t>(x.columns()) * size_of(x.dtype);
  for (int64_t r = 0; r < y.rows(); ++r) {
    const int64_t row = rows.i32()[r];
    assert(row >= 0 && row < x.rows());
    std::memcpy(y.slice(r, 1).data, x.slice(row, 1).data, row_bytes);
  }
}

void Kernels::scatter_rows(ConstTensor y, ConstTensor rows, Tensor x) {
  const ProfileScope scope(pool_.profiler(), "scatter_rows", bytes_of({y, x}));
  assert(x.dtype == y.dtype && x.columns() == y.columns());
  const size_t row_bytes = static_cast<size_t>(x.columns()) * size_of(x.dtype);
  zero(x);
  for (int64_t r = 0; r < y.rows(); ++r) {
    const int64_t row = rows.i32()[r];
    assert(row >= 0 && row < x.rows());
    std::memcpy(x.slice(row, 1).data, y.slice(r, 1).data, row_bytes);
  }
}

void Kernels::sequence_means(ConstTensor x, ConstTensor cu_seqlens, Tensor means) {
  const ProfileScope scope(pool_.profiler(), "sequence_means", bytes_of({x, means}));
  const int64_t hidden = x.columns();
  parallel(means.rows(), row_grain(hidden), [&](int64_t first, int64_t last, int) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t begin = cu_seqlens.i32()[b], end = cu_seqlens.i32()[b + 1];
      float* mean = means.f32() + b * hidden;
      std::fill_n(mean, hidden, 0.0f);
      for (int64_t t = begin; t < end; ++t) {
        const float* row = x.f32() + t * hidden;
        for (int64_t h = 0; h < hidden; ++h) mean[h] += row[h];
      }
      const float scale = 1.0f / static_cast<float>(std::max<int64_t>(1, end - begin));
      for (int64_t h = 0; h < hidden; ++h) mean[h] *= scale;
    }
  });
}

void Kernels::sequence_means_backward(ConstTensor dmeans, ConstTensor cu_seqlens, Tensor dx) {
  const ProfileScope scope(pool_.profiler(), "sequence_means_backward", bytes_of({dmeans, dx}));
  const int64_t hidden = dx.columns();
  parallel(dmeans.rows(), row_grain(hidden), [&](int64_t first, int64_t last, int) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t begin = cu_seqlens.i32()[b], end = cu_seqlens.i32()[b + 1];
      const float* dmean = dmeans.f32() + b * hidden;
      const float scale = 1.0f / static_cast<float>(std::max<int64_t>(1, end - begin));
      for (int64_t t = begin; t < end; ++t) {
        float* row = dx.f32() + t * hidden;
        for (int64_t h = 0; h < hidden; ++h) row[h] = scale * dmean[h];
      }
    }
  });
}

void Kernels::sequence_maxima(ConstTensor x, ConstTensor cu_seqlens, Tensor maxima, Tensor places) {
  const ProfileScope scope(pool_.profiler(), "sequence_maxima", bytes_of({x, maxima, places}));
  const int64_t hidden = x.columns();
  parallel(maxima.rows(), row_grain(hidden), [&](int64_t first, int64_t last, int) {
    for (int64_t b = first; b < last; ++b) {
      const int32_t begin = cu_seqlens.i32()[b], end = cu_seqlens.i32()[b + 1];
      assert(begin < end);
      float* most = maxima.f32() + b * hidden;
      int32_t* place = places.i32() + b * hidden;
      std::copy_n(x.f32() + begin * hidden, hidden, most);
      std::fill_n(place, hidden, begin);
      // The first token that has the maximum keeps it, and alone gets the gradient.
      for (int32_t t = begin + 1; t < end; ++t) {
        const float* row = x.f32() + t * hidden;
        for (int64_t h = 0; h < hidden; ++h) {
          if (row[h] <= most[h]) continue;
          most[h] = row[h];
          place[h] = t;
        }
      }
    }
  });
}

void Kernels::sequence_maxima_backward(ConstTensor dmaxima, ConstTensor places, Tensor dx) {
  const ProfileScope scope(pool_.profiler(), "sequence_maxima_backward", bytes_of({dmaxima, dx}));
  const int64_t hidden = dx.columns();
  zero(dx);
  for (int64_t b = 0; b < dmaxima.rows(); ++b) {
    for (int64_t h = 0; h < hidden; ++h) {
      dx.f32()[places.i32()[b * hidden + h] * hidden + h] = dmaxima.f32()[b * hidden + h];
    }
  }
}

namespace {

// Goes through the rows of a packed batch in order and knows the sequence of the current row.
class SequenceOfRow {
 public:
  explicit SequenceOfRow(ConstTensor cu_seqlens)
      : next_(cu_seqlens.i32()), end_(cu_seqlens.i32() + cu_seqlens.rows()) {}

  // Moves to `row`, which must not be less than in the last call.
  void find(int64_t row) {
    next_ = std::upper_bound(next_, end_, row);
    assert(next_ != end_ && *next_ > row);
  }
  bool holds(int64_t row) const { return row >= next_[-1] && row < *next_; }

 private:
  const int32_t *next_, *end_;  // *next_: the end of the sequence
};

// windows[t][h * size + tap] = x[t + tap - size / 2][h], or 0 beyond the ends of t's sequence.
void fill_windows(ConstTensor x, SequenceOfRow sequence, int64_t begin, int64_t end,
                  Tensor windows) {
  const int64_t hidden = x.columns(), size = windows.columns() / hidden;
  for (int64_t t = begin; t < end; ++t) {
    sequence.find(t);
    for (int64_t tap = 0; tap < size; ++tap) {
      float* const to = windows.f32() + t * hidden * size + tap;
      const int64_t from = t + tap - size / 2;
      const float* const row = sequence.holds(from) ? x.f32() + from * hidden : nullptr;
      for (int64_t h = 0; h < hidden; ++h) to[h * size] = row == nullptr ? 0.0f : row[h];
    }
  }
}

// dx[t][h] is the sum of the gradients of x[t][h] in all windows that contain it, in the order of
// the taps.
void sum_windows(ConstTensor dwindows, SequenceOfRow sequence, int64_t begin, int64_t end,
                 Tensor dx) {
  const int64_t hidden = dx.columns(), size = dwindows.columns() / hidden;
  for (int64_t t = begin; t < end; ++t) {
    sequence.find(t);
    float* const sum = dx.f32() + t * hidden;
    std::fill_n(sum, hidden, 0.0f);
    for (int64_t tap = 0; tap < size; ++tap) {
      const int64_t window = t - tap + size / 2;
      if (!sequence.holds(window)) continue;
      const float* const from = dwindows.f32() + window * hidden * size + tap;
      for (int64_t h = 0; h < hidden; ++h) sum[h] += from[h * size];
    }
  }
}

}  // namespace

void Kernels::unfold_windows(ConstTensor x, ConstTensor cu_seqlens, Tensor windows) {
  const ProfileScope scope(pool_.profiler(), "unfold_windows", bytes_of({x, windows}));
  assert(windows.columns() % x.columns() == 0 && windows.columns() / x.columns() % 2 == 1);
  parallel(x.rows(), row_grain(windows.columns()), [&](int64_t begin, int64_t end, int) {
    fill_windows(x, SequenceOfRow(cu_seqlens), begin, end, windows);
  });
}

void Kernels::fold_windows(ConstTensor dwindows, ConstTensor cu_seqlens, Tensor dx) {
  const ProfileScope scope(pool_.profiler(), "fold_windows", bytes_of({dwindows, dx}));
  parallel(dx.rows(), row_grain(dwindows.columns()), [&](int64_t begin, int64_t end, int) {
    sum_windows(dwindows, SequenceOfRow(cu_seqlens), begin, end, dx);
  });
}

}  // namespace berth
