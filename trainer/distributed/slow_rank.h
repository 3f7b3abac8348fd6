#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace berth {

// Notices a rank for which the others wait: one that needs at least kSlower times as long as the
// median for its share of an update, kInARow updates in a row. Not thread-safe.
class SlowRank {
 public:
  static constexpr double kSlower = 2;
  static constexpr int kInARow = 10;

  struct Found {
    int64_t rank = 0;
    double times = 0;  // as long as the median, in the last update
  };
  // Takes the seconds for which every rank computed in an update. Returns a slow rank once, when it
  // is noticed. Returns it again only if it was as fast as the others in between.
  std::optional<Found> add(std::span<const double> seconds);

 private:
  int64_t rank_ = -1;
  int in_a_row_ = 0;
};

}  // namespace berth
