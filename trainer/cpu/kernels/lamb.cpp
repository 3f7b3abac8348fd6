#include <cmath>

#include "trainer/cpu/kernels/adam_update.h"
#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {
namespace {

// The factor by which LAMB scales a step: the norm of the weights divided by that of the step. It
// is 1 if the range does not adapt, or if one of the norms is 0.
double trust_ratio(const UpdateRange& range, double weight_squares, double step_squares) {
  if (!range.adapts || weight_squares <= 0 || step_squares <= 0) return 1;
  return std::sqrt(weight_squares / step_squares);
}

}  // namespace

// Sums are made block by block, so that they do not depend on the number of threads.
void Kernels::lamb(std::span<const UpdateRange> ranges, const AdamWOptions& options,
                   const StepState& state) {
  const ProfileScope scope(pool_.profiler(), "lamb", bytes_of(ranges));
  const BiasCorrection correction(options, state.inputs.step);
  std::vector<double> weight_squares, step_squares;
  for (const UpdateRange& range : ranges) {
    float* const w = range.w.f32();
    float* const g = range.g.f32();
    const LambFactors factors{
        .gradient_scale = state.gradient_scale,
        .beta1 = options.beta1,
        .beta2 = options.beta2,
        .correction = static_cast<float>(1 / correction.first),
        .inverse_root_correction = static_cast<float>(1 / std::sqrt(correction.second)),
        .epsilon = options.epsilon,
        .weight_decay = range.weight_decay};
    const int64_t count = range.w.elements();
    const int64_t blocks = (count + kUpdateGrain - 1) / kUpdateGrain;
    weight_squares.assign(static_cast<size_t>(blocks), 0);
    step_squares.assign(static_cast<size_t>(blocks), 0);
    parallel(blocks, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t at = block * kUpdateGrain;
        const int64_t size = std::min(kUpdateGrain, count - at);
        weight_squares[static_cast<size_t>(block)] = loops_.sum_of_squares(w + at, size);
        step_squares[static_cast<size_t>(block)] = loops_.lamb_direction(
            w + at, g + at, range.m.f32() + at, range.v.f32() + at, size, factors);
      }
    });
    const auto sum = [](const std::vector<double>& values) {
      double total = 0;
      for (const double value : values) total += value;
      return total;
    };
    const double rate = static_cast<double>(state.inputs.learning_rate) *
                        static_cast<double>(range.rate_scale) *
                        trust_ratio(range, sum(weight_squares), sum(step_squares));
    parallel(count, kUpdateGrain, [&](int64_t begin, int64_t end, int) {
      loops_.lamb_apply(w + begin, g + begin, end - begin, static_cast<float>(rate));
    });
  }
}

}  // namespace berth
