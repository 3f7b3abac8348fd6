#include "trainer/model/embeddings.h"

#include "trainer/model/dropout_sites.h"

namespace berth {

Embeddings::Embeddings(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      word_(parameters.value("bert.embeddings.word_embeddings.weight")),
      position_(parameters.value("bert.embeddings.position_embeddings.weight")),
      type_(parameters.value("bert.embeddings.token_type_embeddings.weight")),
      dword_(parameters.gradient("bert.embeddings.word_embeddings.weight")),
      dposition_(parameters.gradient("bert.embeddings.position_embeddings.weight")),
      dtype_(parameters.gradient("bert.embeddings.token_type_embeddings.weight")),
      norm_(parameters, "bert.embeddings.LayerNorm") {}

void Embeddings::allocate(Arena& arena, const BatchLimits& limits) {
  sum_ = arena.make(kernels_.activation_dtype(), {limits.tokens, config_.hidden_size});
  mean_ = arena.make(DType::kF32, {limits.tokens});
  rstd_ = arena.make(DType::kF32, {limits.tokens});
}

void Embeddings::forward(const StepContext& step, Tensor y) {
  const DeviceBatch& batch = step.batch;
  const int64_t tokens = batch.num_tokens;
  const Tensor sum = sum_.first(tokens);
  kernels_.embedding_forward(batch.input_ids, batch.position_ids, batch.token_type_ids, word_,
                             position_, type_, sum);
  kernels_.layer_norm_forward(sum, norm_.gamma, norm_.beta,
                              static_cast<float>(config_.layer_norm_eps), y, mean_.first(tokens),
                              rstd_.first(tokens));
  kernels_.dropout(y, step.dropout(config_.hidden_dropout_prob, kEmbeddingsSite), step.state, y);
}

void Embeddings::backward(const StepContext& step, Tensor dy) {
  const DeviceBatch& batch = step.batch;
  const int64_t tokens = batch.num_tokens;
  kernels_.dropout(dy, step.dropout(config_.hidden_dropout_prob, kEmbeddingsSite), step.state, dy);
  kernels_.layer_norm_backward(dy, sum_.first(tokens), norm_.gamma, mean_.first(tokens),
                               rstd_.first(tokens), dy, norm_.dgamma, norm_.dbeta);
  kernels_.embedding_backward(dy, batch.input_ids, batch.position_ids, batch.token_type_ids, dword_,
                              dposition_, dtype_);
}

}  // namespace berth
