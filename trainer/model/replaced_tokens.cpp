#include "trainer/model/replaced_tokens.h"

#include <utility>

#include "storage/base/philox.h"
#include "trainer/model/two_losses.h"

namespace berth {
namespace {

// No job has 2^63 updates: a step with this bit gives the generator random numbers of its own.
constexpr uint64_t kGeneratorSteps = uint64_t{1} << 63;

constexpr uint32_t kSamplingPurpose = 0x73616d70;  // no dropout site has these numbers
constexpr uint32_t kEvaluationSamplingPurpose = 0x73616d71;

}  // namespace

UpdateInputs generator_inputs(UpdateInputs inputs) {
  inputs.step |= kGeneratorSteps;
  return inputs;
}

SamplingKey sampling_key(const UpdateInputs& of_generator) {
  return philox_key(of_generator.seed, of_generator.step, kSamplingPurpose);
}

SamplingKey evaluation_sampling_key() { return philox_key(0, 0, kEvaluationSamplingPurpose); }

double sampling_number(const SamplingKey& key, uint64_t token) {
  const auto words = philox4x32({low_word(token), high_word(token), 0, 0}, key);
  return words[0] * 0x1p-32 + (words[1] >> 12) * 0x1p-52;
}

PackedBatch replaced_batch(const PackedBatch& batch, std::span<const int32_t> drawn, double scale) {
  const auto& masked = std::get<PackedBatch::MaskedTokens>(batch.labels);
  PackedBatch replaced = batch;
  std::vector<float> targets(batch.input_ids.size(), 0.0f);
  for (size_t m = 0; m < drawn.size(); ++m) {
    if (drawn[m] < 0) continue;
    const auto token = static_cast<size_t>(masked.tokens[m]);
    replaced.input_ids[token] = drawn[m];
    targets[token] = drawn[m] == masked.ids[m] ? 0.0f : 1.0f;
  }
  replaced.labels = PackedBatch::ClassSets{std::move(targets)};
  replaced.weights = token_weights(batch);
  for (float& weight : replaced.weights) {
    weight = static_cast<float>(scale * static_cast<double>(weight));
  }
  return replaced;
}

std::vector<float> detection_outputs(const PackedBatch::MaskedTokens& masked,
                                     const PackedBatch& replaced, std::span<const float> logits,
                                     std::span<const float> predictions) {
  constexpr size_t kColumns = 4;
  const std::vector<float>& targets = std::get<PackedBatch::ClassSets>(replaced.labels).targets;
  std::vector<float> rows(kColumns * logits.size(), 0.0f);
  for (size_t t = 0; t < logits.size(); ++t) {
    rows[kColumns * t] = logits[t];
    rows[kColumns * t + 1] = targets[t];
    rows[kColumns * t + 3] = -1;
  }
  for (size_t m = 0; m < masked.tokens.size(); ++m) {
    float* const row = &rows[kColumns * static_cast<size_t>(masked.tokens[m])];
    row[2] = predictions[2 * m];
    row[3] = predictions[2 * m + 1];
  }
  return rows;
}

}  // namespace berth
