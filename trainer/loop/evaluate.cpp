#include "trainer/loop/evaluate.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "trainer/data/batcher.h"
#include "trainer/metrics/classification.h"

namespace berth {

std::optional<double> run_forward(Model& model, Kernels& kernels, Dataset& data, int64_t batch_size,
                                  const std::atomic<bool>& stop, const LogitsCallback& logits) {
  const std::unique_ptr<StepState> state = kernels.make_step_state();
  kernels.begin_step(*state, {});
  std::vector<int64_t> indices;
  for (int64_t begin = 0; begin < data.size(); begin += batch_size) {
    if (stop) return std::nullopt;
    indices.resize(static_cast<size_t>(std::min(batch_size, data.size() - begin)));
    std::iota(indices.begin(), indices.end(), begin);
    model.forward(pack(data, indices), *state, Phase::kEvaluation);
    const std::vector<float> all = model.logits();
    const size_t width = all.size() / indices.size();
    for (size_t i = 0; i < indices.size(); ++i) {
      logits(indices[i], std::span(all).subspan(i * width, width));
    }
  }
  const StepOutcome outcome = kernels.read_step(*state);
  return outcome.examples == 0 ? 0 : outcome.loss_sum / outcome.examples;
}

std::optional<EvaluationResult> evaluate(Model& model, Kernels& kernels, Dataset& data,
                                         int64_t batch_size, int64_t num_labels, Observer& observer,
                                         const std::atomic<bool>& stop) {
  const auto start = std::chrono::steady_clock::now();
  ConfusionMatrix confusion(num_labels);
  const std::optional<double> loss = run_forward(model, kernels, data, batch_size, stop,
                                                 [&](int64_t index, std::span<const float> logits) {
                                                   confusion.add(logits, data.label(index));
                                                   observer.on_evaluating(index + 1, data.size());
                                                 });
  if (!loss) return std::nullopt;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return EvaluationResult{.examples = confusion.examples(),
                          .loss = *loss,
                          .metrics = confusion.metrics(),
                          .majority_rate = confusion.majority_rate(),
                          .seconds = elapsed.count()};
}

}  // namespace berth
