#include "trainer/loop/save_pace.h"

#include <algorithm>
#include <utility>

namespace berth {
namespace {

constexpr double kTimesItsCost = 100;
constexpr double kLeast_s = 5 * 60, kMost_s = 30 * 60;

}  // namespace

SavePace::SavePace(std::optional<double> minutes, Clock steady_clock)
    : minutes_(minutes),
      clock_(std::move(steady_clock)),
      interval_s_(minutes ? *minutes * 60 : kLeast_s),
      began_s_(clock_()) {}

bool SavePace::due() const { return interval_s_ > 0 && clock_() - began_s_ >= interval_s_; }

void SavePace::took(double seconds) {
  if (is_chosen()) interval_s_ = std::clamp(kTimesItsCost * seconds, kLeast_s, kMost_s);
}

}  // namespace berth
