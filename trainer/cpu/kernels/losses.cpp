#include <algorithm>
#include <cmath>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/row_losses.h"

namespace berth {
namespace {

double log_sum_exp(const CpuLoops& loops, const float* row, int64_t count) {
  const float max = loops.maximum(row, count);
  return static_cast<double>(max) + std::log(loops.sum_of_exp(row, max, count));
}

}  // namespace

void Kernels::cross_entropy(const LossInputs& inputs, float smoothing, StepState& state,
                            Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "cross_entropy", bytes_of({inputs.logits, dlogits}));
  const ConstTensor logits = inputs.logits, labels = inputs.targets;
  const int64_t rows = logits.rows(), classes = logits.columns();
  // The part of the target that smoothing gives to each class, also to the class of the label.
  const float share = smoothing / static_cast<float>(classes);
  RowLosses losses(rows, inputs.weights);
  parallel(rows, row_grain(classes), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const float* row = logits.f32() + b * classes;
      float* gradient = dlogits ? dlogits.f32() + b * classes : nullptr;
      const int64_t label = labels.i32()[b];
      assert(label < classes);
      if (label < 0) {
        if (gradient != nullptr) std::fill_n(gradient, classes, 0.0f);
        continue;
      }
      const double log_sum = log_sum_exp(loops_, row, classes);
      double target_logit = static_cast<double>(row[label]);
      if (smoothing > 0) {
        const double mean = loops_.sum(row, classes) / static_cast<double>(classes);
        target_logit += static_cast<double>(smoothing) * (mean - target_logit);
      }
      losses.set(b, log_sum - target_logit);
      if (gradient == nullptr) continue;
      loops_.softmax(row, static_cast<float>(log_sum), classes, gradient);
      gradient[label] -= 1.0f - smoothing;
      if (smoothing == 0 && !inputs.weights) continue;
      const float weight = losses.weight(b);
      for (int64_t c = 0; c < classes; ++c) gradient[c] = weight * (gradient[c] - share);
    }
  });
  losses.add_to(state);
}

void Kernels::mean_squared_error(const LossInputs& inputs, StepState& state, Tensor dlogits,
                                 OverOutputs over) {
  const ProfileScope scope(pool_.profiler(), "mean_squared_error",
                           bytes_of({inputs.logits, dlogits}));
  const ConstTensor logits = inputs.logits, targets = inputs.targets;
  const int64_t rows = logits.rows(), columns = logits.columns();
  assert(targets.elements() == logits.elements());
  const double share = over == OverOutputs::kMean ? 1 / static_cast<double>(columns) : 1;
  RowLosses losses(rows, inputs.weights);
  parallel(rows, row_grain(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const double weight = 2 * share * static_cast<double>(losses.weight(b));
      double sum = 0;
      for (int64_t at = b * columns; at < (b + 1) * columns; ++at) {
        const double error =
            static_cast<double>(logits.f32()[at]) - static_cast<double>(targets.f32()[at]);
        sum += error * error;
        if (dlogits) dlogits.f32()[at] = static_cast<float>(weight * error);
      }
      losses.set(b, share * sum);
    }
  });
  losses.add_to(state);
}

void Kernels::binary_cross_entropy(const LossInputs& inputs, StepState& state, Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "binary_cross_entropy",
                           bytes_of({inputs.logits, dlogits}));
  const ConstTensor logits = inputs.logits, targets = inputs.targets;
  const int64_t rows = logits.rows(), classes = logits.columns();
  RowLosses losses(rows, inputs.weights);
  parallel(rows, row_grain(16 * classes), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const double weight = static_cast<double>(losses.weight(b)) / static_cast<double>(classes);
      double sum = 0;
      for (int64_t at = b * classes; at < (b + 1) * classes; ++at) {
        const auto x = static_cast<double>(logits.f32()[at]);
        const auto target = static_cast<double>(targets.f32()[at]);
        const double small = std::exp(-std::abs(x));  // at most 1, so that nothing overflows
        sum += std::max(x, 0.0) - x * target + std::log1p(small);
        if (!dlogits) continue;
        const double sigmoid = (x >= 0 ? 1 : small) / (1 + small);
        dlogits.f32()[at] = static_cast<float>(weight * (sigmoid - target));
      }
      losses.set(b, sum / static_cast<double>(classes));
    }
  });
  losses.add_to(state);
}

void Kernels::span_cross_entropy(const SpanLossInputs& inputs, StepState& state, Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "span_cross_entropy",
                           bytes_of({inputs.logits, dlogits}));
  const ConstTensor logits = inputs.logits, cu_seqlens = inputs.cu_seqlens;
  const int64_t sequences = inputs.starts.elements();
  assert(logits.columns() == 2 && cu_seqlens.elements() == sequences + 1);
  RowLosses losses(sequences, inputs.weights);
  // The loss of one end (column 0 or 1) of sequence b, and its gradient.
  const auto loss_of_end = [&](int64_t b, int column, int64_t place, std::vector<float>& scores) {
    const int64_t first = cu_seqlens.i32()[b], length = cu_seqlens.i32()[b + 1] - first;
    assert(place >= first && place < first + length);
    scores.resize(static_cast<size_t>(length));
    const float* from = logits.f32() + 2 * first + column;
    for (int64_t t = 0; t < length; ++t) scores[static_cast<size_t>(t)] = from[2 * t];
    const double log_sum = log_sum_exp(loops_, scores.data(), length);
    const double loss = log_sum - static_cast<double>(scores[static_cast<size_t>(place - first)]);
    if (!dlogits) return loss;
    loops_.softmax(scores.data(), static_cast<float>(log_sum), length, scores.data());
    scores[static_cast<size_t>(place - first)] -= 1.0f;
    float* to = dlogits.f32() + 2 * first + column;
    const float half = losses.weight(b) / 2;
    for (int64_t t = 0; t < length; ++t) to[2 * t] = half * scores[static_cast<size_t>(t)];
    return loss;
  };
  if (dlogits) zero(dlogits);
  parallel(sequences, 8, [&](int64_t begin, int64_t end, int) {
    std::vector<float> scores;
    for (int64_t b = begin; b < end; ++b) {
      const int32_t start = inputs.starts.i32()[b], last = inputs.ends.i32()[b];
      if (start < 0 || last < 0) continue;
      losses.set(b, (loss_of_end(b, 0, start, scores) + loss_of_end(b, 1, last, scores)) / 2);
    }
  });
  losses.add_to(state);
}

}  // namespace berth
