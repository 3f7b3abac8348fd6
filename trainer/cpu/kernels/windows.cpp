#include <algorithm>

#include "trainer/cpu/kernels/kernels.h"

namespace berth {
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
