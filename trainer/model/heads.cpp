#include "trainer/model/heads.h"

#include "trainer/model/dropout_sites.h"

namespace berth {

SequenceClassificationHead::SequenceClassificationHead(const ModelConfig& config,
                                                       Parameters& parameters, Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      pooler_(parameters, kernels, "bert.pooler.dense"),
      classifier_(parameters, kernels, "classifier") {}

void SequenceClassificationHead::allocate(Arena& arena, const BatchLimits& limits) {
  const DType dtype = kernels_.activation_dtype();
  for (Tensor* tensor : {&first_, &pooled_pre_, &pooled_, &dfirst_, &dpooled_}) {
    *tensor = arena.make(dtype, {limits.sequences, config_.hidden_size});
  }
  for (Tensor* tensor : {&logits_, &dlogits_}) {
    *tensor = arena.make(dtype, {limits.sequences, static_cast<int64_t>(config_.labels.size())});
  }
}

Dropout SequenceClassificationHead::dropout(const StepContext& step) const {
  return step.dropout(config_.head_dropout(), kClassifierSite, DropoutRows::kSequences);
}

Tensor SequenceClassificationHead::forward(const StepContext& step, Tensor hidden) {
  const int64_t sequences = step.batch.num_sequences;
  const Tensor first = first_.first(sequences), pooled = pooled_.first(sequences);
  const Tensor logits = logits_.first(sequences);
  kernels_.gather_rows(hidden, step.batch.cu_seqlens.first(sequences), first);
  kernels_.linear_activation_forward(first, *pooler_.weight, pooler_.bias, Activation::kTanh,
                                     pooled_pre_.first(sequences), pooled);
  kernels_.dropout(pooled, dropout(step), step.state, pooled);
  kernels_.linear_forward(pooled, *classifier_.weight, classifier_.bias, logits);
  if (step.batch.labels) {
    const Tensor dlogits = step.training ? dlogits_.first(sequences) : Tensor();
    kernels_.cross_entropy(logits, step.batch.labels, step.state, dlogits);
  }
  return logits;
}

void SequenceClassificationHead::backward(const StepContext& step, Tensor dhidden) {
  const int64_t sequences = step.batch.num_sequences;
  const Tensor first = first_.first(sequences), dfirst = dfirst_.first(sequences);
  const Tensor dpooled = dpooled_.first(sequences);
  kernels_.linear_backward(dlogits_.first(sequences), pooled_.first(sequences), *classifier_.weight,
                           dpooled, Into::kOverwrite, classifier_.dweight, classifier_.dbias);
  kernels_.dropout(dpooled, dropout(step), step.state, dpooled);
  kernels_.linear_activation_backward(dpooled, pooled_pre_.first(sequences), Activation::kTanh,
                                      first, *pooler_.weight, dfirst, Into::kOverwrite,
                                      pooler_.dweight, pooler_.dbias);
  kernels_.gather_rows_backward(dfirst, step.batch.cu_seqlens.first(sequences), dhidden);
}

void SequenceClassificationHead::refresh() {
  kernels_.refresh(*pooler_.weight);
  kernels_.refresh(*classifier_.weight);
}

}  // namespace berth
