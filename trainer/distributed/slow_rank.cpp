#include "trainer/distributed/slow_rank.h"

#include <algorithm>
#include <vector>

namespace berth {

std::optional<SlowRank::Found> SlowRank::add(std::span<const double> seconds) {
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::ranges::sort(sorted);
  const double median = sorted[(sorted.size() - 1) / 2];  // of two ranks the faster one
  const auto slowest = std::ranges::max_element(seconds);
  const int64_t rank = slowest - seconds.begin();
  if (median <= 0 || *slowest < kSlower * median) {
    rank_ = -1;
    in_a_row_ = 0;
    return std::nullopt;
  }
  in_a_row_ = rank == rank_ ? in_a_row_ + 1 : 1;
  rank_ = rank;
  if (in_a_row_ != kInARow) return std::nullopt;
  return Found{.rank = rank, .times = *slowest / median};
}

}  // namespace berth
