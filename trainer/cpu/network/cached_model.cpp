#include "trainer/cpu/network/cached_model.h"

#include <cassert>
#include <variant>

#include "trainer/model/batch_parts.h"

namespace berth {
CachedModel::CachedModel(const ModelConfig& config, Parameters& parameters, Kernels& kernels,
                         LossOptions loss, const LoraOptions& lora, Communicator* workers)
    : config_(config),
      model_(config, parameters, kernels, loss, lora),
      loss_(config, kernels, workers) {}

CachedModel::CachedModel(const ModelConfig& config, const BatchLimits& limits,
                         Parameters& parameters, Kernels& kernels, LossOptions loss,
                         const LoraOptions& lora, Communicator* workers)
    : CachedModel(config, parameters, kernels, loss, lora, workers) {
  Arena plan;
  allocate(plan, limits);
  activations_ = Memory(plan.used_bytes());
  Arena arena(activations_);
  allocate(arena, limits);
}

size_t CachedModel::planned_bytes(const ModelConfig& config, const BatchLimits& limits,
                                  Parameters& planned, Kernels& kernels, const LoraOptions& lora) {
  CachedModel model(config, planned, kernels, {}, lora, nullptr);
  Arena plan;
  model.allocate(plan, limits);
  return plan.used_bytes();
}

void CachedModel::allocate(Arena& arena, const BatchLimits& limits) {
  part_limits_ = limits_of_part(limits);
  model_.allocate(arena, part_limits_);
  make_all(arena, {&embeddings_, &dembeddings_}, {limits.sequences, config_.embedding_dimension()});
  labels_ = arena.make(DType::kI32, {limits.sequences});
  targets_ = arena.make(DType::kF32, {limits.sequences, config_.num_outputs()});
  weights_ = arena.make(DType::kF32, {limits.sequences});
  text_targets_.allocate(config_, limits, arena);
  loss_.allocate(arena, limits);
}

// The batch as the loss needs it.
BatchTensors CachedModel::upload_labels(const PackedBatch& batch) const {
  const int64_t examples = batch.num_examples();
  BatchTensors tensors{.num_tokens = batch.num_tokens(),
                       .num_sequences = batch.num_sequences(),
                       .sequences_per_example = batch.sequences_per_example,
                       .source = batch.source};
  if (const auto* classes = std::get_if<PackedBatch::Classes>(&batch.labels)) {
    tensors.labels = labels_.first(examples);
    copy_in(tensors.labels, classes->data());
  } else if (const auto* scores = std::get_if<PackedBatch::Scores>(&batch.labels)) {
    tensors.targets = targets_.first(examples);
    copy_in(tensors.targets, scores->values.data());
  }
  if (!batch.weights.empty()) {
    tensors.weights = weights_.first(examples);
    copy_in(tensors.weights, batch.weights.data());
  }
  text_targets_.upload(batch, tensors);
  return tensors;
}

void CachedModel::forward(const PackedBatch& batch, StepState& state, Phase phase) {
  assert(batch.num_sequences() <= embeddings_.rows());
  parts_ = parts_of(batch, part_limits_);
  const Tensor embeddings = embeddings_.first(batch.num_sequences());
  int64_t first = 0;
  for (const PackedBatch& part : parts_) {
    model_.forward(part, state, phase);
    copy_in(embeddings.slice(first, part.num_sequences()), model_.outputs_in_place().data);
    first += part.num_sequences();
  }
  outputs_ = embeddings;
  if (batch.num_sequences() > 0 && batch.sequences_per_example == 1) return;
  const BatchTensors tensors = upload_labels(batch);
  const bool trains = phase == Phase::kTraining;
  const Tensor dembeddings = trains ? dembeddings_.first(batch.num_sequences()) : Tensor();
  outputs_ = loss_.compute({.batch = tensors, .state = state, .training = trains},
                           batch.num_sequences() > 0 ? embeddings : Tensor(), dembeddings);
}

// The last part comes first, as its activations are still there.
void CachedModel::backward(StepState& state, const GradientsFinal& are_final) {
  int64_t end = 0;
  for (const PackedBatch& part : parts_) end += part.num_sequences();
  for (size_t i = parts_.size(); i-- > 0;) {
    const PackedBatch& part = parts_[i];
    if (i + 1 < parts_.size()) model_.forward(part, state, Phase::kTraining);
    const int64_t sequences = part.num_sequences();
    end -= sequences;
    model_.backward(state, dembeddings_.slice(end, sequences),
                    i == 0 ? are_final : GradientsFinal());
  }
}

std::vector<float> CachedModel::outputs() const {
  std::vector<float> host(static_cast<size_t>(outputs_.elements()));
  copy_out(outputs_, host.data());
  return host;
}

}  // namespace berth
