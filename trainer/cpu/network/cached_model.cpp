#include "trainer/cpu/network/cached_model.h"

#include <algorithm>
#include <cassert>
#include <variant>

namespace berth {
namespace {

BatchLimits limits_of_part(const BatchLimits& whole) {
  return {.tokens = std::min(whole.tokens, whole.part_tokens),
          .sequences = std::min(whole.sequences, whole.part_sequences),
          .recomputes = whole.recomputes};
}

// The sequences from `first` up to `last` of a batch, without their labels.
PackedBatch part_of(const PackedBatch& batch, size_t first, size_t last) {
  const int32_t begin = batch.cu_seqlens[first], end = batch.cu_seqlens[last];
  const auto part = [&](const std::vector<int32_t>& of) {
    return std::vector<int32_t>(of.begin() + begin, of.begin() + end);
  };
  PackedBatch made{.input_ids = part(batch.input_ids),
                   .token_type_ids = part(batch.token_type_ids),
                   .position_ids = part(batch.position_ids),
                   .labels = {},
                   .weights = {},
                   .first_token = batch.first_token + static_cast<uint64_t>(begin),
                   .first_sequence = batch.first_sequence + first};
  for (size_t b = first; b < last; ++b) {
    made.cu_seqlens.push_back(batch.cu_seqlens[b + 1] - begin);
  }
  return made;
}

}  // namespace

CachedModel::CachedModel(const ModelConfig& config, Parameters& parameters, Kernels& kernels,
                         LossOptions loss, const LoraOptions& lora)
    : config_(config),
      parameters_(parameters),
      model_(config, parameters, kernels, loss, lora),
      loss_(config, kernels) {}

CachedModel::CachedModel(const ModelConfig& config, const BatchLimits& limits,
                         Parameters& parameters, Kernels& kernels, LossOptions loss,
                         const LoraOptions& lora)
    : CachedModel(config, parameters, kernels, loss, lora) {
  Arena plan;
  allocate(plan, limits);
  activations_ = Memory(plan.used_bytes());
  Arena arena(activations_);
  allocate(arena, limits);
}

size_t CachedModel::planned_bytes(const ModelConfig& config, const BatchLimits& limits,
                                  Parameters& planned, Kernels& kernels, const LoraOptions& lora) {
  CachedModel model(config, planned, kernels, {}, lora);
  Arena plan;
  model.allocate(plan, limits);
  return plan.used_bytes();
}

void CachedModel::allocate(Arena& arena, const BatchLimits& limits) {
  part_limits_ = limits_of_part(limits);
  model_.allocate(arena, part_limits_);
  embeddings_ = arena.make(DType::kF32, {limits.sequences, config_.hidden_size});
  dembeddings_ = arena.make(DType::kF32, {limits.sequences, config_.hidden_size});
  labels_ = arena.make(DType::kI32, {limits.sequences});
  targets_ = arena.make(DType::kF32, {limits.sequences, config_.num_outputs()});
  weights_ = arena.make(DType::kF32, {limits.sequences});
  text_targets_.allocate(config_, limits, arena);
  loss_.allocate(arena, limits);
}

// Cuts the batch into the fewest parts within their limits, from the first sequence on.
void CachedModel::cut(const PackedBatch& batch) {
  parts_.clear();
  const auto sequences = static_cast<size_t>(batch.num_sequences());
  for (size_t first = 0; first < sequences;) {
    size_t last = first + 1;
    while (last < sequences && static_cast<int64_t>(last - first) < part_limits_.sequences &&
           batch.cu_seqlens[last + 1] - batch.cu_seqlens[first] <= part_limits_.tokens) {
      ++last;
    }
    parts_.push_back(part_of(batch, first, last));
    first = last;
  }
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
  cut(batch);
  const Tensor embeddings = embeddings_.first(batch.num_sequences());
  int64_t first = 0;
  for (const PackedBatch& part : parts_) {
    model_.forward(part, state, phase);
    copy_in(embeddings.slice(first, part.num_sequences()), model_.output().data);
    first += part.num_sequences();
  }
  logits_ = embeddings;
  if (batch.sequences_per_example == 1) return;
  const BatchTensors tensors = upload_labels(batch);
  const bool trains = phase == Phase::kTraining;
  const Tensor dembeddings = trains ? dembeddings_.first(batch.num_sequences()) : Tensor();
  logits_ = loss_.compute({.batch = tensors, .state = state, .training = trains}, embeddings,
                          dembeddings);
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

void CachedModel::refresh() { parameters_.refresh(); }

std::vector<float> CachedModel::logits() const {
  std::vector<float> host(static_cast<size_t>(logits_.elements()));
  copy_out(logits_, host.data());
  return host;
}

}  // namespace berth
