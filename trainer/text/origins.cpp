#include "trainer/text/origins.h"

#include <algorithm>

namespace berth {

void Origins::add(size_t count, Span origin) {
  const uint32_t at = size_;
  size_ += static_cast<uint32_t>(count);
  if (runs_.empty()) {
    runs_.push_back({at, origin});
    return;
  }
  Run& last = runs_.back();
  if (last.origin == origin) return;
  const uint32_t length = at - last.begin;
  const bool is_byte = count == 1 && origin.end - origin.begin == 1;
  const bool goes_on = is_byte && last.origin.begin + length == origin.begin;
  if (goes_on && last.origin.end == kOneByOne) return;
  if (goes_on && length == 1 && last.origin.end == origin.begin) {
    last.origin.end = kOneByOne;
    return;
  }
  runs_.push_back({at, origin});
}

size_t Origins::run_of(size_t byte) const {
  const auto holds = [&](size_t run) {
    return run < runs_.size() && runs_[run].begin <= byte &&
           (run + 1 == runs_.size() || byte < runs_[run + 1].begin);
  };
  for (const size_t run : {asked_, asked_ + 1}) {
    if (holds(run)) return run;
  }
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), byte,
                                      [](size_t at, const Run& run) { return at < run.begin; });
  return static_cast<size_t>(after - runs_.begin()) - 1;
}

Span Origins::of(size_t byte) const {
  asked_ = run_of(byte);
  const Run& run = runs_[asked_];
  if (run.origin.end != kOneByOne) return run.origin;
  const auto begin = static_cast<uint32_t>(run.origin.begin + (byte - run.begin));
  return {begin, begin + 1};
}

}  // namespace berth
