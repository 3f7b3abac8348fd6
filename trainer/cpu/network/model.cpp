#include "trainer/cpu/network/model.h"

#include <algorithm>
#include <cassert>
#include <variant>

#include "trainer/cpu/network/cached_model.h"
#include "trainer/cpu/network/network.h"
#include "trainer/model/generator.h"
#include "trainer/model/replaced_tokens.h"
#include "trainer/model/table_rows.h"
#include "trainer/model/two_losses.h"

namespace berth {
namespace {

// Whether targets are one row for each token, and not for each sequence.
bool has_targets_of_tokens(const ModelConfig& config) {
  const TaskTraits& task = traits(config.task);
  return task.rows == HeadRows::kReplaced || task.labels == LabelKind::kVectorPerToken;
}

bool predicts_next_sentences(const ModelConfig& config) {
  return traits(config.task).rows == HeadRows::kMaskedAndFirst;
}

template <typename Values>
void put(Tensor& tensor, Tensor room, const Values& host) {
  tensor = room.first(static_cast<int64_t>(host.size()));
  copy_in(tensor, host.data());
}

}  // namespace

Model::Model(const ModelConfig& config, Parameters& parameters, Kernels& kernels, LossOptions loss,
             const LoraOptions& lora, Communicator* workers)
    : config_(config),
      loss_(loss),
      encoder_(config, lora, parameters, kernels),
      head_(make_head(config, parameters, kernels, workers)) {}

Model::Model(const ModelConfig& config, const BatchLimits& limits, Parameters& parameters,
             Kernels& kernels, LossOptions loss, const LoraOptions& lora, Communicator* workers)
    : Model(config, parameters, kernels, loss, lora, workers) {
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
  text_targets_.allocate(config_, limits, arena);
  ends_ = arena.make(DType::kI32, {limits.sequences});
  weights_ = arena.make(DType::kF32, {labels_.rows()});
  if (predicts_next_sentences(config_)) {
    const int64_t rows = limits.most_masked() + limits.sequences;
    next_sentences_ = arena.make(DType::kI32, {limits.sequences});
    first_and_masked_ = arena.make(DType::kI32, {rows});
    masked_then_first_ = arena.make(DType::kI32, {rows});
  }
  // Activations, and the gradient that flows from the head to the encoder.
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
            .longest = batch.longest_sequence(),
            .source = batch.source};
  copy_in(batch_.input_ids, batch.input_ids.data());
  copy_in(batch_.token_type_ids, batch.token_type_ids.data());
  copy_in(batch_.position_ids, table_positions(batch, config_).data());
  copy_in(batch_.cu_seqlens, batch.cu_seqlens.data());
  upload_labels(batch);
  batch_.selected = head_->selected(batch_);
}

void Model::upload_labels(const PackedBatch& batch) {
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
    upload_masked(*masked, batch.cu_seqlens);
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
  text_targets_.upload(batch, batch_);
}

void Model::upload_masked(const PackedBatch::MaskedTokens& masked,
                          std::span<const int32_t> cu_seqlens) {
  put(batch_.labels, labels_, masked.ids);
  put(batch_.masked, masked_, masked.tokens);
  batch_.num_masked = static_cast<int64_t>(masked.tokens.size());
  if (!predicts_next_sentences(config_)) return;
  assert(masked.next_sentences.size() + 1 == cu_seqlens.size());
  put(batch_.next_sentences, next_sentences_, masked.next_sentences);
  std::vector<int32_t> tokens, places(masked.tokens.size());
  size_t m = 0;
  for (size_t b = 0; b + 1 < cu_seqlens.size(); ++b) {
    places.push_back(static_cast<int32_t>(tokens.size()));
    tokens.push_back(cu_seqlens[b]);
    for (; m < masked.tokens.size() && masked.tokens[m] < cu_seqlens[b + 1]; ++m) {
      places[m] = static_cast<int32_t>(tokens.size());
      tokens.push_back(masked.tokens[m]);
    }
  }
  put(batch_.first_and_masked, first_and_masked_, tokens);
  put(batch_.masked_then_first, masked_then_first_, places);
}

std::vector<double> Model::loss_weights(std::span<const PackedBatch> micro_batches) const {
  return berth::loss_weights(config_, micro_batches);
}

void Model::begin_update(std::span<const double> weights) {
  if (!weights.empty()) second_weight_ = static_cast<float>(second_factor(weights));
}

StepContext Model::context(StepState& state, bool training) const {
  return {.batch = batch_,
          .state = state,
          .training = training,
          .label_smoothing = training ? static_cast<float>(loss_.label_smoothing) : 0.0f,
          .focal_gamma = training ? loss_.focal_gamma : 0,
          .positive_weights =
              std::span(loss_.positive_weights).first(training ? loss_.positive_weights.size() : 0),
          .second_weight = second_weight_,
          .distillation = loss_.distillation};
}

void Model::forward(const PackedBatch& batch, StepState& state, Phase phase) {
  upload(batch);
  state.begin_micro_batch(batch.first_token, batch.first_sequence);
  const StepContext step = context(state, phase == Phase::kTraining);
  const Tensor hidden = batch.num_sequences() > 0 ? encoder_.forward(step) : Tensor();
  outputs_ = head_->forward(step, hidden);
}

void Model::backward(StepState& state, const GradientsFinal& are_final) {
  backward(context(state, /*training=*/true), are_final);
}

void Model::backward(StepState& state, Tensor dembeddings, const GradientsFinal& are_final) {
  StepContext step = context(state, /*training=*/true);
  step.dembeddings = dembeddings;
  backward(step, are_final);
}

void Model::backward(const StepContext& step, const GradientsFinal& are_final) {
  if (batch_.num_sequences == 0) return;
  const Tensor dhidden =
      dhidden_.first(batch_.selected ? batch_.selected.rows() : batch_.num_tokens);
  head_->backward(step, dhidden);
  if (are_final) are_final(encoder_.depth() + 1);
  encoder_.backward(step, dhidden, are_final);
}

std::vector<int32_t> Model::samples() const {
  const Tensor drawn = head_->samples();
  std::vector<int32_t> host(static_cast<size_t>(drawn.elements()));
  if (!host.empty()) copy_out(drawn, host.data());
  return host;
}

std::vector<float> Model::outputs() const {
  std::vector<float> host(static_cast<size_t>(outputs_.elements()));
  copy_out(outputs_, host.data());
  return host;
}

ReplacedTokenModel::ReplacedTokenModel(const ModelConfig& config, Parameters& parameters,
                                       Kernels& kernels, LossOptions loss)
    : config_(config),
      generator_config_(generator_config(config)),
      weight_(loss.discriminator_weight),
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
  return berth::loss_weights(config_, micro_batches);
}

void ReplacedTokenModel::begin_update(std::span<const double> weights) {
  token_scale_ = second_factor(weights, weight_);
}

void ReplacedTokenModel::forward(const PackedBatch& batch, StepState& state, Phase phase) {
  const bool trains = phase == Phase::kTraining;
  state.begin_micro_batch(batch.first_token, batch.first_sequence);
  // 1. The generator, forward and backward, with dropout masks of its own.
  StepState of_generator = state;
  of_generator.inputs = generator_inputs(of_generator.inputs);
  generator_.forward(batch, of_generator, phase);
  if (trains) generator_.backward(of_generator);
  state.loss_sum = of_generator.loss_sum;
  state.examples = of_generator.examples;
  // 2. The discriminator reads the ids that the generator drew.
  predictions_ = generator_.outputs();
  masked_ = std::get<PackedBatch::MaskedTokens>(batch.labels);
  // In training the two losses are one sum, so the tokens' weights take the factor between them.
  replaced_ = replaced_batch(batch, generator_.samples(), trains ? token_scale_ : 1);
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

std::vector<float> ReplacedTokenModel::outputs() const {
  return detection_outputs(masked_, replaced_, discriminator_.outputs(), predictions_);
}

std::unique_ptr<Network> make_network(const ModelConfig& config, const BatchLimits& limits,
                                      Parameters& parameters, Kernels& kernels, LossOptions loss,
                                      const LoraOptions& lora, Communicator* workers) {
  if (config.generator) {
    return std::make_unique<ReplacedTokenModel>(config, limits, parameters, kernels, loss);
  }
  if (limits.part_sequences > 0) {
    return std::make_unique<CachedModel>(config, limits, parameters, kernels, loss, lora, workers);
  }
  return std::make_unique<Model>(config, limits, parameters, kernels, loss, lora, workers);
}

size_t planned_network_bytes(const ModelConfig& config, const BatchLimits& limits,
                             Parameters& planned, Kernels& kernels, const LoraOptions& lora) {
  if (config.generator) {
    return ReplacedTokenModel::planned_bytes(config, limits, planned, kernels);
  }
  if (limits.part_sequences > 0) {
    return CachedModel::planned_bytes(config, limits, planned, kernels, lora);
  }
  return Model::planned_bytes(config, limits, planned, kernels, lora);
}

}  // namespace berth
