#include "trainer/model/two_losses.h"

#include <algorithm>

namespace berth {
namespace {

const PackedBatch::MaskedTokens& masked_of(const PackedBatch& batch) {
  return std::get<PackedBatch::MaskedTokens>(batch.labels);
}

// The sum of the weights of the masked tokens that have a loss.
double masked_weight(const PackedBatch& batch) {
  const std::vector<int32_t>& ids = masked_of(batch).ids;
  double sum = 0;
  for (size_t m = 0; m < ids.size(); ++m) {
    if (ids[m] < 0) continue;
    sum += batch.weights.empty() ? 1 : static_cast<double>(batch.weights[m]);
  }
  return sum;
}

double sum_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum;
}

}  // namespace

std::vector<double> loss_weights(const ModelConfig& config,
                                 std::span<const PackedBatch> micro_batches) {
  const HeadRows rows = traits(config.task).rows;
  if (rows != HeadRows::kMaskedAndFirst && rows != HeadRows::kReplaced) return {};
  double masked = 0, second = 0;
  for (const PackedBatch& batch : micro_batches) {
    masked += masked_weight(batch);
    second += rows == HeadRows::kReplaced ? sum_of(token_weights(batch))
                                          : static_cast<double>(batch.num_sequences());
  }
  return {masked, second};
}

double second_factor(std::span<const double> loss_weights, double weight) {
  return loss_weights[1] > 0 ? weight * loss_weights[0] / loss_weights[1] : 0;
}

std::vector<float> token_weights(const PackedBatch& batch) {
  std::vector<float> weights(batch.input_ids.size(), 1.0f);
  if (batch.weights.empty()) return weights;
  const std::vector<int32_t>& masked = masked_of(batch).tokens;
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) {
    const int32_t begin = batch.cu_seqlens[b], end = batch.cu_seqlens[b + 1];
    const auto first = std::ranges::lower_bound(masked, begin);
    if (first == masked.end() || *first >= end) continue;
    std::fill(weights.begin() + begin, weights.begin() + end,
              batch.weights[static_cast<size_t>(first - masked.begin())]);
  }
  return weights;
}

}  // namespace berth
