#include "storage/base/profiler.h"

#include <chrono>

namespace berth {

int64_t profile_clock_ns() {
  using std::chrono::nanoseconds;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<nanoseconds>(now).count();
}

double Profiler::flops() const {
  double sum = 0;
  for (const Thread& thread : threads_) sum += thread.flops;
  return sum;
}

void Profiler::open(const char* name) {
  size_t kept = spans_.size();
  for (const Thread& thread : threads_) kept += thread.spans.size();
  is_full_ = is_full_ || kept >= kMostSpans;
  if (is_full_) return open_.push_back(kMostSpans);
  open_.push_back(spans_.size());
  // `flops` is the sum before, until the span is closed.
  spans_.push_back({.name = name,
                    .begin_ns = profile_clock_ns(),
                    .depth = static_cast<int>(open_.size()) - 1,
                    .flops = flops()});
}

void Profiler::close(double bytes) {
  const size_t at = open_.back();
  open_.pop_back();
  if (at == kMostSpans) return;
  ProfileSpan& span = spans_[at];
  span.end_ns = profile_clock_ns();
  span.flops = flops() - span.flops;
  span.bytes = bytes;
}

void Profiler::add_part(int thread, int64_t begin_ns, int64_t end_ns) {
  if (open_.empty() || open_.back() == kMostSpans) return;
  threads_[static_cast<size_t>(thread)].spans.push_back(
      {.name = spans_[open_.back()].name, .begin_ns = begin_ns, .end_ns = end_ns});
}

void Profiler::add_beside(const ProfileSpan& span) {
  if (is_on_ && !is_full_) beside_.push_back(span);
}

void Profiler::add_flops(int thread, double flops) {
  threads_[static_cast<size_t>(thread)].flops += flops;
}

}  // namespace berth
