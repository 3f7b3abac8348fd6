#include "trainer/loop/evaluate.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "trainer/data/batcher.h"
#include "trainer/loop/training_state.h"

namespace berth {
namespace {

// Calls `logits` for each sequence with its part of the logits: one row, or one row for each token.
void hand_out(const std::vector<float>& all, const PackedBatch& batch, Task task,
              std::span<const int64_t> indices, const LogitsCallback& logits) {
  const bool is_of_tokens = traits(task).rows == HeadRows::kTokens;
  const auto rows = static_cast<size_t>(is_of_tokens ? batch.num_tokens() : batch.num_sequences());
  const size_t width = all.size() / rows;
  for (size_t i = 0; i < indices.size(); ++i) {
    const size_t begin = is_of_tokens ? static_cast<size_t>(batch.cu_seqlens[i]) : i;
    const size_t end = is_of_tokens ? static_cast<size_t>(batch.cu_seqlens[i + 1]) : i + 1;
    logits(indices[i], std::span(all).subspan(begin * width, (end - begin) * width));
  }
}

}  // namespace

std::optional<double> run_forward(Engine& engine, Dataset& data, int64_t batch_size,
                                  const std::atomic<bool>& stop, const LogitsCallback& logits) {
  LossSum loss;
  std::vector<int64_t> indices;
  for (int64_t begin = 0; begin < data.size(); begin += batch_size) {
    if (stop) return std::nullopt;
    indices.resize(static_cast<size_t>(std::min(batch_size, data.size() - begin)));
    std::iota(indices.begin(), indices.end(), begin);
    const PackedBatch batch = pack(data, indices);
    hand_out(engine.infer(batch, loss), batch, data.task(), indices, logits);
  }
  return mean_loss(loss.loss, loss.weight);
}

std::optional<EvaluationResult> evaluate(Engine& engine, Dataset& data, int64_t batch_size,
                                         const ReadingOptions& reading, Observer& observer,
                                         const std::atomic<bool>& stop) {
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<Evaluator> evaluator =
      make_evaluator(data, reading.labels, reading.answers);
  const std::optional<double> loss = run_forward(engine, data, batch_size, stop,
                                                 [&](int64_t index, std::span<const float> logits) {
                                                   evaluator->add(index, logits);
                                                   observer.on_evaluating(index + 1, data.size());
                                                 });
  if (!loss) return std::nullopt;
  EvaluationResult result{.examples = data.rows(), .loss = *loss, .scores = evaluator->finish()};
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.seconds = elapsed.count();
  return result;
}

}  // namespace berth
