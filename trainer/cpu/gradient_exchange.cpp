#include "trainer/cpu/gradient_exchange.h"

#include <algorithm>
#include <array>
#include <span>

namespace berth {
namespace {

std::span<float> elements_of(const Tensor& x) {
  return {x.f32(), static_cast<size_t>(x.elements())};
}

}  // namespace

GradientExchange::GradientExchange(Communicator& ranks, const ReducerOptions& options,
                                   Parameters& parameters)
    : ranks_(ranks), parameters_(parameters), reducer_(ranks, options) {
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
  are_final(0);
  handed_over_ = 0;
  reducer_.finish();
  for (const ProfileSpan& span : reducer_.take_spans()) {
    if (profiler != nullptr) profiler->add_beside(span);
  }
  const std::array<double, 2> own = {state.loss_sum, state.examples};
  state.loss_sum = state.examples = 0;
  for (const std::vector<double>& sums : gather_values(ranks_, own)) {
    state.loss_sum += sums[0];
    state.examples += sums[1];
  }
}

}  // namespace berth
