#include "trainer/cpu/network/embeddings.h"

#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {

Embeddings::Embeddings(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
    : config_(config), kernels_(kernels), norm_(parameters, embedding_names(config).norm) {
  const EmbeddingNames names = embedding_names(config);
  word_ = parameters.value(names.word + ".weight");
  dword_ = parameters.gradient(names.word + ".weight");
  word_marks_ = parameters.marks(names.word + ".weight");
  if (!names.position.empty()) {
    position_ = parameters.value(names.position + ".weight");
    dposition_ = parameters.gradient(names.position + ".weight");
  }
  if (!names.token_type.empty()) {
    type_ = parameters.value(names.token_type + ".weight");
    dtype_ = parameters.gradient(names.token_type + ".weight");
  }
  if (!names.projection.empty()) projection_.emplace(parameters, kernels, names.projection);
}

void Embeddings::allocate(Arena& arena, const BatchLimits& limits) {
  const DType dtype = kernels_.activation_dtype();
  sum_ = arena.make(dtype, {limits.tokens, config_.embedding_width()});
  mean_ = arena.make(DType::kF32, {limits.tokens});
  rstd_ = arena.make(DType::kF32, {limits.tokens});
  if (!projection_) return;
  normalized_ = arena.make(dtype, {limits.tokens, config_.embedding_width()});
  dnormalized_ = arena.make(dtype, {limits.tokens, config_.embedding_width()});
}

void Embeddings::forward(const StepContext& step, Tensor y) {
  const DeviceBatch& batch = step.batch;
  const int64_t tokens = batch.num_tokens;
  const Tensor sum = sum_.first(tokens);
  const Tensor normalized = projection_ ? normalized_.first(tokens) : y;
  kernels_.embedding_forward(batch.input_ids, batch.position_ids, batch.token_type_ids, word_,
                             position_, type_, sum);
  kernels_.layer_norm_forward(sum, norm_.gamma, norm_.beta,
                              static_cast<float>(config_.layer_norm_eps), normalized,
                              mean_.first(tokens), rstd_.first(tokens));
  kernels_.dropout(normalized, step.dropout(config_.hidden_dropout_prob, kEmbeddingsSite),
                   step.state, normalized);
  if (projection_) kernels_.linear_forward(normalized, *projection_->weight, projection_->bias, y);
}

void Embeddings::backward(const StepContext& step, Tensor dy) {
  const DeviceBatch& batch = step.batch;
  const int64_t tokens = batch.num_tokens;
  Tensor d = dy;
  if (projection_) {
    d = dnormalized_.first(tokens);
    projection_->backward(kernels_, dy, normalized_.first(tokens), d, Into::kOverwrite);
  }
  kernels_.dropout(d, step.dropout(config_.hidden_dropout_prob, kEmbeddingsSite), step.state, d);
  kernels_.layer_norm_backward(d, sum_.first(tokens), norm_.gamma, mean_.first(tokens),
                               rstd_.first(tokens), d, norm_.dgamma, norm_.dbeta);
  const PaddingRows padding{.word = config_.pad_token_id,
                            .position = config_.counts_from_padding() ? config_.pad_token_id : -1};
  kernels_.embedding_backward(d, batch.input_ids, batch.position_ids, batch.token_type_ids, padding,
                              dword_, word_marks_, dposition_, dtype_);
}

void Embeddings::refresh() {
  if (projection_) projection_->refresh(kernels_);
}

}  // namespace berth
