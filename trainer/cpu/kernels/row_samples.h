#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "storage/base/philox.h"
#include "trainer/cpu/kernels/arguments.h"
#include "trainer/cpu/kernels/loops.h"

namespace berth {

// Draws one column of each row from the row's probabilities, which come tile by tile from the first
// column on: the first one up to which the probabilities sum to more than the row's random number
// (the inverse of the distribution function). This takes one random number for a row. Gumbel noise
// would take one for each column, and the distribution is the same. Borrows what it is made from.
// Threads may add tiles of different rows.
class RowSamples {
 public:
  // Null samples: nothing is drawn.
  RowSamples(const CpuLoops& loops, const SampleDraws& draws, Tensor samples)
      : loops_(loops), draws_(draws), samples_(samples) {
    if (!samples_) return;
    assert(draws_.tokens.elements() == samples_.elements());
    std::fill_n(samples_.i32(), samples_.elements(), kNone);
    sums_.assign(static_cast<size_t>(samples_.elements()), 0);
  }

  explicit operator bool() const { return static_cast<bool>(samples_); }

  // The probabilities of columns [first, first + count) of a row.
  void add(int64_t row, const float* probabilities, int64_t first, int64_t count) {
    int32_t& sample = samples_.i32()[row];
    if (sample != kNone) return;
    const double wanted = draw(row);
    double& before = sums_[static_cast<size_t>(row)];
    const double all = before + loops_.sum(probabilities, count);
    if (all <= wanted) {
      before = all;
      return;
    }
    double sum = before;
    int64_t last = 0;  // where rounding hides the end of the sum: the last column that is possible
    for (int64_t column = 0; column < count; ++column) {
      if (!(probabilities[column] > 0)) continue;
      last = column;
      sum += static_cast<double>(probabilities[column]);
      if (sum > wanted) break;
    }
    sample = static_cast<int32_t>(first + last);
  }

  // To be called behind the last tile of a row. Where rounding left the sum of all probabilities
  // below the random number, the row gets the column `likely`.
  void finish(int64_t row, int64_t likely) {
    int32_t& sample = samples_.i32()[row];
    if (sample == kNone) sample = static_cast<int32_t>(likely);
  }

 private:
  static constexpr int32_t kNone = -1;

  // From 0 to 1, without 1.
  double draw(int64_t row) const {
    const uint64_t token = draws_.first_token + static_cast<uint64_t>(draws_.tokens.i32()[row]);
    const auto words = philox4x32({low_word(token), high_word(token), 0, 0}, draws_.key);
    return words[0] * 0x1p-32 + (words[1] >> 12) * 0x1p-52;
  }

  const CpuLoops& loops_;
  const SampleDraws& draws_;
  const Tensor samples_;
  std::vector<double> sums_;  // of the probabilities so far
};

}  // namespace berth
