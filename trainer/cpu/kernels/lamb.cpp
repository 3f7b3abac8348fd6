#include <cmath>

#include "trainer/cpu/kernels/adam_update.h"
#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {
namespace {

// The factor by which LAMB scales a step: the norm of the weights divided by the norm of the step.
// It is 1 if the range does not adapt, or if one of the norms is 0.
double trust_ratio(const UpdateRange& range, const LambSquares& squares) {
  if (!range.adapts || squares.weights <= 0 || squares.steps <= 0) return 1;
  return std::sqrt(squares.weights / squares.steps);
}

}  // namespace

// Sums are made block by block, so that they do not depend on the number of threads.
LambSquares Kernels::lamb_direction(const UpdateRange& range, const AdamWOptions& options,
                                    const StepState& state) {
  const BiasCorrection correction(options, state.inputs.step);
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
  std::vector<LambSquares> of_blocks(static_cast<size_t>(blocks));
  parallel(blocks, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t at = block * kUpdateGrain;
      const int64_t size = std::min(kUpdateGrain, count - at);
      LambSquares& squares = of_blocks[static_cast<size_t>(block)];
      squares.weights = loops_.sum_of_squares(w + at, size);
      squares.steps = loops_.lamb_direction(w + at, g + at, range.m.f32() + at, range.v.f32() + at,
                                            size, factors);
    }
  });
  LambSquares total;
  for (const LambSquares& squares : of_blocks) {
    total.weights += squares.weights;
    total.steps += squares.steps;
  }
  return total;
}

void Kernels::lamb_apply(const UpdateRange& range, const LambSquares& squares,
                         const StepState& state) {
  const double rate = static_cast<double>(state.inputs.learning_rate) *
                      static_cast<double>(range.rate_scale) * trust_ratio(range, squares);
  parallel(range.w.elements(), kUpdateGrain, [&](int64_t begin, int64_t end, int) {
    loops_.lamb_apply(range.w.f32() + begin, range.g.f32() + begin, end - begin,
                      static_cast<float>(rate));
  });
}

void Kernels::lamb(std::span<const UpdateRange> ranges, const AdamWOptions& options,
                   const StepState& state) {
  const ProfileScope scope(pool_.profiler(), "lamb", bytes_of(ranges));
  for (const UpdateRange& range : ranges) {
    lamb_apply(range, lamb_direction(range, options, state), state);
  }
}

}  // namespace berth
