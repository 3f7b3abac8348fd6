#include "trainer/cpu/network/embeddings.h"

#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {

Embeddings::Embeddings(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      word_(parameters.parameter(embedding_names(config).word + ".weight")),
      norm_(parameters, embedding_names(config).norm, config.layer_norm_eps) {
  const EmbeddingNames names = embedding_names(config);
  if (!names.position.empty()) position_ = &parameters.parameter(names.position + ".weight");
  if (!names.token_type.empty()) token_type_ = &parameters.parameter(names.token_type + ".weight");
  if (!names.projection.empty()) projection_.emplace(parameters, names.projection);
}

EmbeddingTables Embeddings::tables() const {
  return {.word = word_.value(),
          .position = position_ ? position_->value() : Tensor(),
          .type = token_type_ ? token_type_->value() : Tensor()};
}

EmbeddingGradients Embeddings::gradients() const {
  return {.dword = word_.gradient(),
          .dposition = position_ ? position_->gradient() : Tensor(),
          .dtype = token_type_ ? token_type_->gradient() : Tensor(),
          .word_marks = word_.marks()};
}

void Embeddings::allocate(Arena& arena, const BatchLimits& limits) {
  sum_ = arena.make(DType::kF32, {limits.tokens, config_.embedding_width()});
  norm_.allocate(arena, limits.tokens);
  if (!projection_) return;
  normalized_ = arena.make(DType::kF32, {limits.tokens, config_.embedding_width()});
  dnormalized_ = arena.make(DType::kF32, {limits.tokens, config_.embedding_width()});
}

void Embeddings::forward(const StepContext& step, Tensor y) {
  const BatchTensors& batch = step.batch;
  const int64_t tokens = batch.num_tokens;
  const Tensor sum = sum_.first(tokens);
  const Tensor normalized = projection_ ? normalized_.first(tokens) : y;
  kernels_.embedding_forward(batch.embedding_ids(), tables(), sum);
  kernels_.layer_norm_forward(sum, norm_.parameters(), normalized, norm_.statistics(tokens));
  kernels_.dropout(normalized, step.dropout(config_.hidden_dropout_prob, kEmbeddingsSite),
                   step.state, normalized);
  if (projection_) projection_->forward(kernels_, normalized, y);
}

void Embeddings::backward(const StepContext& step, Tensor dy) {
  const BatchTensors& batch = step.batch;
  const int64_t tokens = batch.num_tokens;
  Tensor d = dy;
  if (projection_) {
    d = dnormalized_.first(tokens);
    projection_->backward(kernels_, dy, normalized_.first(tokens), d, Into::kOverwrite);
  }
  kernels_.dropout(d, step.dropout(config_.hidden_dropout_prob, kEmbeddingsSite), step.state, d);
  kernels_.layer_norm_backward(d, norm_.normalized(sum_.first(tokens)), norm_.parameters(), d,
                               norm_.gradients());
  const PaddingRows padding{.word = config_.pad_token_id,
                            .position = config_.counts_from_padding() ? config_.pad_token_id : -1};
  kernels_.embedding_backward(d, batch.embedding_ids(), padding, gradients());
}

}  // namespace berth
