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

std::span<Bf16> rounded_elements_of(const Tensor& x) {
  return {reinterpret_cast<Bf16*>(x.bf16()), static_cast<size_t>(x.elements())};
}

}  // namespace

GradientExchange::GradientExchange(Communicator& ranks, DType wire_dtype, Parameters& parameters,
                                   const OptimizerShards* shards)
    : ranks_(ranks), parameters_(parameters), began_s_(steady_clock_s()) {
  if (shards != nullptr) {
    sharded_.emplace(ranks, wire_dtype, *shards, parameters);
    return;
  }
  reducer_.emplace(ranks, ReducerOptions{.wire_dtype = wire_dtype});
  const std::span<const ParameterSpec> specs = parameters.specs();
  for (size_t i = parameters.first_trained(); i < specs.size(); ++i) deepest_first_.push_back(i);
  std::ranges::stable_sort(deepest_first_, std::greater<>(),
                           [&](size_t i) { return specs[i].depth; });
}

bool GradientExchange::begin_update(bool stops, std::span<double> weights) {
  std::vector<double> own = {stops ? 1.0 : 0.0};
  own.insert(own.end(), weights.begin(), weights.end());
  std::ranges::fill(weights, 0.0);
  bool all_go_on = true;
  for (const std::vector<double>& of_rank : berth::gather_values(ranks_, own)) {
    all_go_on = all_go_on && of_rank[0] == 0;
    for (size_t i = 0; i < weights.size(); ++i) weights[i] += of_rank[1 + i];
  }
  began_s_ = steady_clock_s();
  return all_go_on;
}

void GradientExchange::are_final(int64_t depth) {
  if (sharded_) return sharded_->are_final(depth);
  while (handed_over_ < deepest_first_.size()) {
    const size_t index = deepest_first_[handed_over_];
    if (parameters_.specs()[index].depth < depth) return;
    hand_over(index);
    ++handed_over_;
  }
}

void GradientExchange::hand_over(size_t index) {
  const Tensor gradient = parameters_.gradient(index), marks = parameters_.marks(index);
  if (gradient.dtype == DType::kBF16) return reducer_->add(rounded_elements_of(gradient));
  if (!marks) return reducer_->add(elements_of(gradient));
  reducer_->add_marked_rows(elements_of(gradient), parameters_.specs()[index].columns(),
                            {marks.i32(), static_cast<size_t>(marks.rows())}, kHasGradient);
}

void GradientExchange::finish(Profiler* profiler) {
  computed_s_ = steady_clock_s() - began_s_;
  std::vector<ProfileSpan> spans;
  if (sharded_) {
    sharded_->finish();
    spans = sharded_->take_spans();
  } else {
    are_final(0);
    handed_over_ = 0;
    reducer_->finish();
    spans = reducer_->take_spans();
  }
  for (const ProfileSpan& span : spans) {
    if (profiler != nullptr) profiler->add_beside(span);
  }
}

void GradientExchange::sum(StepState& state) {
  const std::array<double, 4> own = {state.loss_sum, state.examples, computed_s_, state.squares};
  state.loss_sum = state.examples = 0;
  if (sharded_) state.squares = 0;
  std::vector<double> seconds;
  for (const std::vector<double>& of_rank : berth::gather_values(ranks_, own)) {
    state.loss_sum += of_rank[0];
    state.examples += of_rank[1];
    seconds.push_back(of_rank[2]);
    if (sharded_) state.squares += of_rank[3];
  }
  if (ranks_.rank() == 0) notice_slow_rank(seconds);
}

void GradientExchange::gather_values() {
  if (sharded_) sharded_->gather_values();
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
