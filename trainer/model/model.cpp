#include "trainer/model/model.h"

#include <cassert>

namespace berth {

Model::Model(const ModelConfig& config, const BatchLimits& limits, Parameters& parameters,
             Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      encoder_(config, parameters, kernels),
      head_(config, parameters, kernels) {
  Arena plan;
  allocate(plan, limits);
  activations_ = kernels.allocate(plan.used_bytes());
  Arena arena(*activations_);
  allocate(arena, limits);
}

void Model::allocate(Arena& arena, const BatchLimits& limits) {
  input_ids_ = arena.make(DType::kI32, {limits.tokens});
  token_type_ids_ = arena.make(DType::kI32, {limits.tokens});
  position_ids_ = arena.make(DType::kI32, {limits.tokens});
  cu_seqlens_ = arena.make(DType::kI32, {limits.sequences + 1});
  labels_ = arena.make(DType::kI32, {limits.sequences});
  encoder_.allocate(arena, limits);
  head_.allocate(arena, limits);
  dhidden_ = arena.make(kernels_.activation_dtype(), {limits.tokens, config_.hidden_size});
}

void Model::upload(const PackedBatch& batch) {
  const int64_t tokens = batch.num_tokens(), sequences = batch.num_sequences();
  assert(tokens <= input_ids_.rows() && sequences <= labels_.rows());
  batch_ = {.input_ids = input_ids_.first(tokens),
            .token_type_ids = token_type_ids_.first(tokens),
            .position_ids = position_ids_.first(tokens),
            .cu_seqlens = cu_seqlens_.first(sequences + 1),
            .num_tokens = tokens,
            .num_sequences = sequences};
  kernels_.upload(batch_.input_ids, batch.input_ids.data());
  kernels_.upload(batch_.token_type_ids, batch.token_type_ids.data());
  kernels_.upload(batch_.position_ids, batch.position_ids.data());
  kernels_.upload(batch_.cu_seqlens, batch.cu_seqlens.data());
  if (const auto* classes = std::get_if<PackedBatch::Classes>(&batch.labels)) {
    batch_.labels = labels_.first(sequences);
    kernels_.upload(batch_.labels, classes->data());
  }
}

void Model::forward(const PackedBatch& batch, StepState& state, Phase phase) {
  upload(batch);
  kernels_.begin_micro_batch(state, batch.first_token, batch.first_sequence);
  const StepContext step{.batch = batch_, .state = state, .training = phase == Phase::kTraining};
  const Tensor hidden = encoder_.forward(step);
  logits_ = head_.forward(step, hidden);
}

void Model::backward(StepState& state) {
  const StepContext step{.batch = batch_, .state = state, .training = true};
  const Tensor dhidden = dhidden_.first(batch_.num_tokens);
  head_.backward(step, dhidden);
  encoder_.backward(step, dhidden);
}

void Model::refresh() {
  encoder_.refresh();
  head_.refresh();
}

std::vector<float> Model::logits() const {
  std::vector<float> host(static_cast<size_t>(logits_.elements()));
  kernels_.download(host.data(), logits_);
  return host;
}

}  // namespace berth
