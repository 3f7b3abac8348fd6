#include "trainer/model/training_flops.h"

#include <algorithm>
#include <variant>

#include "trainer/model/generator.h"
#include "trainer/model/part_names.h"

namespace berth {
namespace {

// A product with a parameter of one element, for one token.
constexpr double kForward = 2, kWithInputGradient = 4, kWithBothGradients = 6;

// The pairs of tokens of a sequence of n that are at most w apart.
double local_pairs(double n, int64_t window) {
  const double w = std::min(static_cast<double>(window), n - 1);
  return n <= 0 ? 0 : n * (2 * w + 1) - w * (w + 1);
}

// The head, all of which trains.
void add_head(const ModelConfig& config, TrainingFlops& flops) {
  const auto hidden = static_cast<double>(config.hidden_size);
  const auto embedding = static_cast<double>(config.embedding_width());
  const auto vocabulary = static_cast<double>(config.vocab_size);
  switch (traits(config.task).rows) {
    case HeadRows::kSequences:
      flops.of_sequence =
          kWithBothGradients * hidden * (hidden + static_cast<double>(config.num_outputs()));
      break;
    case HeadRows::kTokens:
      if (config.transforms_tokens()) flops.of_token += kWithBothGradients * hidden * hidden;
      flops.of_token += kWithBothGradients * hidden * static_cast<double>(config.num_outputs());
      break;
    case HeadRows::kPooled:
    case HeadRows::kGroups:
    case HeadRows::kStates:
      break;
    case HeadRows::kReplaced:
      flops.of_token += kWithBothGradients * hidden * (hidden + 1);
      break;
    case HeadRows::kMaskedAndFirst:
      flops.of_sequence =
          kWithBothGradients * hidden * (hidden + static_cast<double>(config.num_outputs()));
      [[fallthrough]];
    case HeadRows::kMasked:
      flops.of_masked_token = kWithBothGradients * embedding * (hidden + vocabulary);
      break;
  }
}

}  // namespace

double TrainingFlops::of(const PackedBatch& batch) const {
  double flops = of_token * static_cast<double>(batch.num_tokens()) +
                 of_sequence * static_cast<double>(batch.num_sequences());
  for (size_t b = 1; b < batch.cu_seqlens.size(); ++b) {
    const double length = batch.cu_seqlens[b] - batch.cu_seqlens[b - 1];
    flops += of_squared_length * length * length + of_local_pair * local_pairs(length, window);
  }
  if (const auto* masked = std::get_if<PackedBatch::MaskedTokens>(&batch.labels)) {
    flops += of_masked_token * static_cast<double>(masked->tokens.size());
  }
  return flops;
}

TrainingFlops training_flops(const ModelConfig& config, const LoraOptions& lora,
                             int64_t first_depth) {
  const auto hidden = static_cast<double>(config.hidden_size);
  const auto intermediate = static_cast<double>(config.intermediate_size);
  const auto embedding = static_cast<double>(config.embedding_width());
  // What the gradient reaches, and whether the parameters there train.
  const auto flops_at = [&](int64_t depth) {
    if (depth < first_depth) return kForward;
    return lora ? kWithInputGradient : kWithBothGradients;
  };
  TrainingFlops flops;
  if (config.embedding_width() != config.hidden_size) {
    flops.of_token += flops_at(0) * embedding * hidden;
  }
  // Layers: dense layers by token, attention by pairs of tokens.
  int64_t depth = 0;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (!shares_parameters(config, layer)) ++depth;
    const double matrices = config.is_gated ? 3 : 2;
    flops.of_token += flops_at(depth) * (4 * hidden * hidden + matrices * hidden * intermediate);
    if (layer == 0) {
      const auto kernel = static_cast<double>(config.conv_kernel_size);
      flops.of_token += flops_at(depth) * hidden * hidden * kernel;
    }
    if (lora) {
      for (const LoraTarget& target : lora_targets(config, lora, layer)) {
        flops.of_token +=
            kWithBothGradients * static_cast<double>(lora.rank * (target.inputs + target.outputs));
      }
    }
    // Scores, and the sum of the values that they weigh. Both factors of both products have
    // gradients. Relative positions have two more products of scores.
    const double products = config.has_relative_positions() ? 4 : 2;
    const bool has_gradient = depth >= first_depth;
    const bool is_local = config.attention_window(layer) >= 0;
    (is_local ? flops.of_local_pair : flops.of_squared_length) +=
        (has_gradient ? kWithBothGradients : kForward) * products * hidden;
    if (is_local) flops.window = config.attention_window(layer);
  }
  add_head(config, flops);
  if (config.generator) {
    const TrainingFlops generator = training_flops(generator_config(config), {}, 0);
    flops.of_token += generator.of_token;
    flops.of_squared_length += generator.of_squared_length;
    flops.of_masked_token += generator.of_masked_token;
  }
  return flops;
}

}  // namespace berth
