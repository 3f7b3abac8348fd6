#include <cmath>

#include "trainer/cpu/kernels/adam_update.h"
#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {
namespace {

// 1 where the range does not adapt, or has nothing to adapt to.
double trust_ratio(const UpdateRange& range, double weight_squares, double step_squares) {
  if (!range.adapts || weight_squares <= 0 || step_squares <= 0) return 1;
  return std::sqrt(weight_squares / step_squares);
}

}  // namespace

// Block by block, so that neither threads nor their number change a sum.
void Kernels::lamb(Tensor w, Tensor g, Tensor m, Tensor v, std::span<const UpdateRange> ranges,
                   const AdamWOptions& options, const StepState& state) {
  const StepState& cpu = state;
  const BiasCorrection correction(options, cpu.inputs.step);
  std::vector<double> weight_squares, step_squares;
  for (const UpdateRange& range : ranges) {
    const LambFactors factors{
        .gradient_scale = cpu.gradient_scale,
        .beta1 = options.beta1,
        .beta2 = options.beta2,
        .correction = static_cast<float>(1 / correction.first),
        .inverse_root_correction = static_cast<float>(1 / std::sqrt(correction.second)),
        .epsilon = options.epsilon,
        .weight_decay = range.weight_decay};
    const int64_t count = range.end - range.begin;
    const int64_t blocks = (count + kUpdateGrain - 1) / kUpdateGrain;
    weight_squares.assign(static_cast<size_t>(blocks), 0);
    step_squares.assign(static_cast<size_t>(blocks), 0);
    parallel(blocks, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t at = range.begin + block * kUpdateGrain;
        const int64_t size = std::min(kUpdateGrain, range.end - at);
        weight_squares[static_cast<size_t>(block)] = loops_.sum_of_squares(w.f32() + at, size);
        step_squares[static_cast<size_t>(block)] = loops_.lamb_direction(
            w.f32() + at, g.f32() + at, m.f32() + at, v.f32() + at, size, factors);
      }
    });
    const auto sum = [](const std::vector<double>& values) {
      double total = 0;
      for (const double value : values) total += value;
      return total;
    };
    const double rate = static_cast<double>(cpu.inputs.learning_rate) *
                        static_cast<double>(range.rate_scale) *
                        trust_ratio(range, sum(weight_squares), sum(step_squares));
    parallel(count, kUpdateGrain, [&](int64_t begin, int64_t end, int) {
      const int64_t at = range.begin + begin;
      loops_.lamb_apply(w.f32() + at, g.f32() + at, end - begin, static_cast<float>(rate));
    });
  }
}

}  // namespace berth
