#include "trainer/cpu/gradient_exchange.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <span>

#include "storage/base/clock.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::span<float> elements_of(const Tensor& x) {
  return {x.f32(), static_cast<size_t>(x.elements())};
}

}  // namespace

GradientExchange::GradientExchange(Communicator& ranks, const ReducerOptions& options,
                                   Parameters& parameters)
    : ranks_(ranks), parameters_(parameters), began_s_(steady_clock_s()), reducer_(ranks, options) {
  const std::span<const ParameterSpec> specs = parameters.specs();
  for (size_t i = parameters.first_trained(); i < specs.size(); ++i) deepest_first_.push_back(i);
  std::ranges::stable_sort(deepest_first_, std::greater<>(),
                           [&](size_t i) { return specs[i].depth; });
}

void GradientExchange::are_final(int64_t depth) {
  while (handed_over_ < deepest_first_.size()) {
    const size_t index = deepest_first_[handed_over_];
    if (parameters_.specs()[index].depth < depth) return;
    hand_over(index);
    ++handed_over_;
  }
}

void GradientExchange::hand_over(size_t index) {
  const Tensor gradient = parameters_.gradient(index), marks = parameters_.marks(index);
  if (!marks) return reducer_.add(elements_of(gradient));
  reducer_.add_marked_rows(elements_of(gradient), parameters_.specs()[index].columns(),
                           {marks.i32(), static_cast<size_t>(marks.rows())}, kHasGradient);
}

void GradientExchange::finish(StepState& state, Profiler* profiler) {
  const double computed_s = steady_clock_s() - began_s_;
  are_final(0);
  handed_over_ = 0;
  reducer_.finish();
  for (const ProfileSpan& span : reducer_.take_spans()) {
    if (profiler != nullptr) profiler->add_beside(span);
  }
  const std::array<double, 3> own = {state.loss_sum, state.examples, computed_s};
  state.loss_sum = state.examples = 0;
  std::vector<double> seconds;
  for (const std::vector<double>& of_rank : gather_values(ranks_, own)) {
    state.loss_sum += of_rank[0];
    state.examples += of_rank[1];
    seconds.push_back(of_rank[2]);
  }
  if (ranks_.rank() == 0) notice_slow_rank(seconds);
}

// An update begins with it, so its time counts from here.
bool GradientExchange::any(bool is_so) {
  const bool is_on_any = any_rank(ranks_, is_so);
  began_s_ = steady_clock_s();
  return is_on_any;
}

void GradientExchange::notice_slow_rank(std::span<const double> seconds) {
  const auto slow = slow_.add(seconds);
  if (!slow) return;
  char times[32];
  std::snprintf(times, sizeof times, "%.1f", slow->times);
  log_warning(cat("worker ", slow->rank, " needs ", times,
                  " times as long as the others for its part of an update, and they wait for it"));
}

}  // namespace berth
