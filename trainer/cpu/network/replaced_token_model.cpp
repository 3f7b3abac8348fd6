#include "trainer/cpu/network/replaced_token_model.h"

#include <algorithm>
#include <variant>

#include "trainer/model/generator_config.h"

namespace berth {
namespace {

// No job has 2^63 updates: a step with this bit gives the generator random numbers of its own.
constexpr uint64_t kGeneratorSteps = uint64_t{1} << 63;

const PackedBatch::MaskedTokens& masked_of(const PackedBatch& batch) {
  return std::get<PackedBatch::MaskedTokens>(batch.labels);
}

// The weight of every token [T].
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

double sum_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum;
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

}  // namespace

ReplacedTokenModel::ReplacedTokenModel(const ModelConfig& config, Parameters& parameters,
                                       Kernels& kernels, LossOptions loss)
    : generator_config_(generator_config(config)),
      weight_(loss.discriminator_weight),
      parameters_(parameters),
      generator_(generator_config_, parameters, kernels, loss, {}),
      discriminator_(config, parameters, kernels, loss, {}) {}

ReplacedTokenModel::ReplacedTokenModel(const ModelConfig& config, const BatchLimits& limits,
                                       Parameters& parameters, Kernels& kernels, LossOptions loss)
    : ReplacedTokenModel(config, parameters, kernels, loss) {
  Arena plan;
  allocate(plan, limits);
  activations_ = Memory(plan.used_bytes());
  Arena arena(activations_);
  allocate(arena, limits);
}

size_t ReplacedTokenModel::planned_bytes(const ModelConfig& config, const BatchLimits& limits,
                                         Parameters& planned, Kernels& kernels) {
  ReplacedTokenModel model(config, planned, kernels, {});
  Arena plan;
  model.allocate(plan, limits);
  return plan.used_bytes();
}

void ReplacedTokenModel::allocate(Arena& arena, const BatchLimits& limits) {
  const size_t begin = arena.position();
  generator_.allocate(arena, limits);
  arena.go_back(begin);
  discriminator_.allocate(arena, limits);
}

std::vector<double> ReplacedTokenModel::loss_weights(
    std::span<const PackedBatch> micro_batches) const {
  double masked = 0, tokens = 0;
  for (const PackedBatch& batch : micro_batches) {
    masked += masked_weight(batch);
    tokens += sum_of(token_weights(batch));
  }
  return {masked, tokens};
}

void ReplacedTokenModel::begin_update(std::span<const double> weights) {
  const double masked = weights[0], tokens = weights[1];
  token_scale_ = tokens > 0 ? weight_ * masked / tokens : 0;
}

// Makes the discriminator's batch. The weights of its tokens are multiplied by `scale`.
void ReplacedTokenModel::replace(const PackedBatch& batch, double scale) {
  replaced_ = batch;
  masked_ = masked_of(batch);
  std::vector<float> targets(batch.input_ids.size(), 0.0f);
  const std::vector<int32_t> drawn = generator_.samples();
  for (size_t m = 0; m < drawn.size(); ++m) {
    if (drawn[m] < 0) continue;  // a token without a label
    const auto token = static_cast<size_t>(masked_.tokens[m]);
    replaced_.input_ids[token] = drawn[m];
    targets[token] = drawn[m] == masked_.ids[m] ? 0.0f : 1.0f;
  }
  replaced_.labels = PackedBatch::ClassSets{std::move(targets)};
  replaced_.weights = token_weights(batch);
  for (float& weight : replaced_.weights) {
    weight = static_cast<float>(scale * static_cast<double>(weight));
  }
}

void ReplacedTokenModel::forward(const PackedBatch& batch, StepState& state, Phase phase) {
  const bool trains = phase == Phase::kTraining;
  state.begin_micro_batch(batch.first_token, batch.first_sequence);
  StepState of_generator = state;
  of_generator.inputs.step |= kGeneratorSteps;
  generator_.forward(batch, of_generator, phase);
  if (trains) generator_.backward(of_generator);
  state.loss_sum = of_generator.loss_sum;
  state.examples = of_generator.examples;
  predictions_ = generator_.logits();
  replace(batch, trains ? token_scale_ : 1);
  StepState of_discriminator = state;
  of_discriminator.loss_sum = of_discriminator.examples = 0;
  discriminator_.forward(replaced_, of_discriminator, phase);
  if (trains) {
    state.loss_sum += of_discriminator.loss_sum;
  } else {
    state.second_loss_sum += weight_ * of_discriminator.loss_sum;
    state.second_examples += of_discriminator.examples;
  }
}

// The gradients of the generator's own parameters are final since forward(). The embeddings, which
// both share, are the last that are.
void ReplacedTokenModel::backward(StepState& state, const GradientsFinal& are_final) {
  discriminator_.backward(state, are_final);
}

void ReplacedTokenModel::refresh() { parameters_.refresh(); }

std::vector<float> ReplacedTokenModel::logits() const {
  constexpr size_t kColumns = 4;
  const std::vector<float> of_tokens = discriminator_.logits();
  const std::vector<float>& targets = std::get<PackedBatch::ClassSets>(replaced_.labels).targets;
  std::vector<float> rows(kColumns * of_tokens.size(), 0.0f);
  for (size_t t = 0; t < of_tokens.size(); ++t) {
    rows[kColumns * t] = of_tokens[t];
    rows[kColumns * t + 1] = targets[t];
    rows[kColumns * t + 3] = -1;
  }
  for (size_t m = 0; m < masked_.tokens.size(); ++m) {
    float* const row = &rows[kColumns * static_cast<size_t>(masked_.tokens[m])];
    row[2] = predictions_[2 * m];
    row[3] = predictions_[2 * m + 1];
  }
  return rows;
}

}  // namespace berth
