#include "trainer/cpu/network/model.h"

#include <algorithm>
#include <cassert>

#include "trainer/model/batch_ids.h"

namespace berth {
namespace {

int64_t longest_sequence(const PackedBatch& batch) {
  int64_t longest = 0;
  for (size_t b = 1; b < batch.cu_seqlens.size(); ++b) {
    longest = std::max<int64_t>(longest, batch.cu_seqlens[b] - batch.cu_seqlens[b - 1]);
  }
  return longest;
}

// Whether targets are one row for each token, and not for each sequence.
bool has_targets_of_tokens(const ModelConfig& config) {
  const TaskTraits& task = traits(config.task);
  return task.rows == HeadRows::kReplaced || task.labels == LabelKind::kVectorPerToken;
}

}  // namespace

Model::Model(const ModelConfig& config, Parameters& parameters, Kernels& kernels, LossOptions loss,
             const LoraOptions& lora)
    : config_(config),
      loss_(loss),
      parameters_(parameters),
      kernels_(kernels),
      encoder_(config, lora, parameters, kernels),
      head_(make_head(config, parameters, kernels)) {}

Model::Model(const ModelConfig& config, const BatchLimits& limits, Parameters& parameters,
             Kernels& kernels, LossOptions loss, const LoraOptions& lora)
    : Model(config, parameters, kernels, loss, lora) {
  Arena plan;
  allocate(plan, limits);
  activations_ = Memory(plan.used_bytes());
  Arena arena(activations_);
  allocate(arena, limits);
}

size_t Model::planned_bytes(const ModelConfig& config, const BatchLimits& limits,
                            Parameters& planned, Kernels& kernels, const LoraOptions& lora) {
  Model model(config, planned, kernels, {}, lora);
  Arena plan;
  model.allocate(plan, limits);
  return plan.used_bytes();
}

void Model::allocate(Arena& arena, const BatchLimits& limits) {
  input_ids_ = arena.make(DType::kI32, {limits.tokens});
  token_type_ids_ = arena.make(DType::kI32, {limits.tokens});
  position_ids_ = arena.make(DType::kI32, {limits.tokens});
  cu_seqlens_ = arena.make(DType::kI32, {limits.sequences + 1});
  labels_ = arena.make(DType::kI32, {std::max(limits.tokens, limits.sequences)});
  masked_ = arena.make(DType::kI32, {limits.most_masked()});
  const int64_t most_targets = has_targets_of_tokens(config_) ? limits.tokens : limits.sequences;
  targets_ = arena.make(DType::kF32, {most_targets, config_.num_outputs()});
  teacher_ = arena.make(DType::kF32, {limits.sequences, config_.num_outputs()});
  ends_ = arena.make(DType::kI32, {limits.sequences});
  weights_ = arena.make(DType::kF32, {labels_.rows()});
  const int64_t most_selected = head_->most_selected(limits);
  encoder_.allocate(arena, limits, most_selected);
  head_->allocate(arena, limits);
  dhidden_ = arena.make(DType::kF32,
                        {most_selected > 0 ? most_selected : limits.tokens, config_.hidden_size});
}

void Model::upload(const PackedBatch& batch) {
  check_ids(batch, config_);
  const int64_t tokens = batch.num_tokens(), sequences = batch.num_sequences();
  assert(tokens <= input_ids_.rows() && sequences <= labels_.rows());
  batch_ = {.input_ids = input_ids_.first(tokens),
            .token_type_ids = token_type_ids_.first(tokens),
            .position_ids = position_ids_.first(tokens),
            .cu_seqlens = cu_seqlens_.first(sequences + 1),
            .num_tokens = tokens,
            .num_sequences = sequences,
            .sequences_per_example = batch.sequences_per_example,
            .longest = longest_sequence(batch)};
  copy_in(batch_.input_ids, batch.input_ids.data());
  copy_in(batch_.token_type_ids, batch.token_type_ids.data());
  copy_in(batch_.position_ids, table_positions(batch, config_).data());
  copy_in(batch_.cu_seqlens, batch.cu_seqlens.data());
  upload_labels(batch);
  batch_.selected = head_->selected(batch_);
}

void Model::upload_labels(const PackedBatch& batch) {
  const auto put = [](Tensor& tensor, Tensor room, const auto& host) {
    tensor = room.first(static_cast<int64_t>(host.size()));
    copy_in(tensor, host.data());
  };
  const auto put_targets = [this](const std::vector<float>& host) {
    const bool is_of_tokens = has_targets_of_tokens(config_);
    const int64_t examples = batch_.num_sequences / batch_.sequences_per_example;
    batch_.targets = targets_.first(is_of_tokens ? batch_.num_tokens : examples);
    assert(host.size() == static_cast<size_t>(batch_.targets.elements()));
    copy_in(batch_.targets, host.data());
  };
  if (const auto* classes = std::get_if<PackedBatch::Classes>(&batch.labels)) {
    put(batch_.labels, labels_, *classes);
  } else if (const auto* tags = std::get_if<PackedBatch::TokenClasses>(&batch.labels)) {
    put(batch_.labels, labels_, tags->classes);
  } else if (const auto* masked = std::get_if<PackedBatch::MaskedTokens>(&batch.labels)) {
    put(batch_.labels, labels_, masked->ids);
    put(batch_.masked, masked_, masked->tokens);
    batch_.num_masked = static_cast<int64_t>(masked->tokens.size());
  } else if (const auto* scores = std::get_if<PackedBatch::Scores>(&batch.labels)) {
    put_targets(scores->values);
  } else if (const auto* sets = std::get_if<PackedBatch::ClassSets>(&batch.labels)) {
    put_targets(sets->targets);
  } else if (const auto* answers = std::get_if<PackedBatch::Answers>(&batch.labels)) {
    put(batch_.labels, labels_, answers->starts);
    put(batch_.ends, ends_, answers->ends);
  }
  if (!batch.teacher_logits.empty()) {
    batch_.teacher = teacher_.first(batch_.num_sequences);
    assert(batch.teacher_logits.size() == static_cast<size_t>(batch_.teacher.elements()));
    copy_in(batch_.teacher, batch.teacher_logits.data());
  }
  if (!batch.weights.empty()) put(batch_.weights, weights_, batch.weights);
}

StepContext Model::context(StepState& state, bool training) const {
  return {.batch = batch_,
          .state = state,
          .training = training,
          .label_smoothing = training ? static_cast<float>(loss_.label_smoothing) : 0.0f,
          .distillation = loss_.distillation};
}

void Model::forward(const PackedBatch& batch, StepState& state, Phase phase) {
  upload(batch);
  state.begin_micro_batch(batch.first_token, batch.first_sequence);
  const StepContext step = context(state, phase == Phase::kTraining);
  const Tensor hidden = encoder_.forward(step);
  logits_ = head_->forward(step, hidden);
}

void Model::backward(StepState& state, const GradientsFinal& are_final) {
  const StepContext step = context(state, /*training=*/true);
  const Tensor dhidden =
      dhidden_.first(batch_.selected ? batch_.selected.rows() : batch_.num_tokens);
  head_->backward(step, dhidden);
  if (are_final) are_final(encoder_.depth() + 1);
  encoder_.backward(step, dhidden, are_final);
}

void Model::refresh() { parameters_.refresh(); }

std::vector<int32_t> Model::samples() const {
  const Tensor drawn = head_->samples();
  std::vector<int32_t> host(static_cast<size_t>(drawn.elements()));
  if (!host.empty()) copy_out(drawn, host.data());
  return host;
}

std::vector<float> Model::logits() const {
  std::vector<float> host(static_cast<size_t>(logits_.elements()));
  copy_out(logits_, host.data());
  return host;
}

}  // namespace berth
