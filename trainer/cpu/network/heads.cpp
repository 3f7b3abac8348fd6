#include "trainer/cpu/network/heads.h"

#include <cassert>
#include <optional>
#include <string>
#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/group_loss.h"
#include "trainer/cpu/network/layer_parts.h"
#include "trainer/model/config.h"
#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"
#include "trainer/model/replaced_tokens.h"

namespace berth {
namespace {

// A dense layer in a head: y = norm(activation(dense(x))), all [R,H]. Borrows what it is made from.
class Transform {
 public:
  Transform(const ModelConfig& config, const std::string& dense, const std::string& norm,
            Activation activation, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, int64_t most_rows);
  // x must not change until backward.
  void forward(Tensor x, Tensor y);
  // Overwrites dy. dx may not be dy.
  void backward(Tensor dy, Tensor dx);

 private:
  const ModelConfig& config_;
  const Activation activation_;
  Kernels& kernels_;
  Linear dense_;
  LayerNorm norm_;
  Tensor x_;                // of the last forward
  Tensor pre_, activated_;  // [R,H]
};

Transform::Transform(const ModelConfig& config, const std::string& dense, const std::string& norm,
                     Activation activation, Parameters& parameters, Kernels& kernels)
    : config_(config),
      activation_(activation),
      kernels_(kernels),
      dense_(parameters, dense),
      norm_(parameters, norm, config.layer_norm_eps) {}

void Transform::allocate(Arena& arena, int64_t most_rows) {
  make_all(arena, {&pre_, &activated_}, {most_rows, config_.hidden_size});
  norm_.allocate(arena, most_rows);
}

void Transform::forward(Tensor x, Tensor y) {
  const int64_t rows = x.rows();
  const Tensor activated = activated_.first(rows);
  x_ = x;
  dense_.activation_forward(kernels_, x, activation_, pre_.first(rows), activated);
  kernels_.layer_norm_forward(activated, norm_.parameters(), y, norm_.statistics(rows));
}

void Transform::backward(Tensor dy, Tensor dx) {
  const int64_t rows = dy.rows();
  kernels_.layer_norm_backward(dy, norm_.normalized(activated_.first(rows)), norm_.parameters(), dy,
                               norm_.gradients());
  dense_.activation_backward(kernels_, dy, {pre_.first(rows), activation_}, x_, dx,
                             Into::kOverwrite);
}

// Turns the last hidden states of each sequence into one vector, by the config's pooling. It has no
// parameters. Borrows the config and the kernels.
class Pooler {
 public:
  Pooler(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config), kernels_(kernels) {
    for (size_t i = 0; i < config.dense_modules.size(); ++i) {
      dense_.push_back(
          {.linear = Linear(parameters, dense_module_name(i)), .module = config.dense_modules[i]});
    }
  }

  // The tokens whose states it reads, and how many these are at most, as Head says.
  Tensor selected(const BatchTensors& batch) const;
  int64_t most_selected(const BatchLimits& limits) const;

  void allocate(Arena& arena, const BatchLimits& limits);
  // hidden [R,H] are the states of the selected tokens. Returns the embeddings [B,D], which may be
  // the same memory and are valid until the next forward.
  Tensor forward(const StepContext& step, Tensor hidden);
  // Overwrites dhidden [R,H], and dembeddings [B,D].
  void backward(const StepContext& step, Tensor dembeddings, Tensor dhidden);

 private:
  bool reads_first_tokens() const { return config_.pooling == Pooling::kCls; }
  Tensor pool(const StepContext& step, Tensor hidden);
  void pool_backward(const StepContext& step, Tensor dpooled, Tensor dhidden);

  // A Dense module: x [B,K] of the last forward, and y [B,N].
  struct Dense {
    Linear linear;
    const DenseModule& module;
    Tensor x{}, dx{}, pre{}, y{};
  };

  const ModelConfig& config_;
  Kernels& kernels_;
  std::vector<Dense> dense_;
  Tensor pooled_;  // [B,H]; null where the first tokens' states are the embeddings
  Tensor places_;  // int32 [B,H], the rows that maxima come from; null where there are none
};

Tensor Pooler::selected(const BatchTensors& batch) const {
  return reads_first_tokens() ? batch.cu_seqlens.first(batch.num_sequences) : Tensor();
}

int64_t Pooler::most_selected(const BatchLimits& limits) const {
  return reads_first_tokens() ? limits.sequences : 0;
}

void Pooler::allocate(Arena& arena, const BatchLimits& limits) {
  for (Dense& dense : dense_) {
    dense.dx = arena.make(DType::kF32, {limits.sequences, dense.module.inputs});
    make_all(arena, {&dense.pre, &dense.y}, {limits.sequences, dense.module.outputs});
  }
  if (reads_first_tokens()) return;
  pooled_ = arena.make(DType::kF32, {limits.sequences, config_.hidden_size});
  if (config_.pooling == Pooling::kMax) {
    places_ = arena.make(DType::kI32, {limits.sequences, config_.hidden_size});
  }
}

Tensor Pooler::forward(const StepContext& step, Tensor hidden) {
  Tensor x = pool(step, hidden);
  for (Dense& dense : dense_) {
    dense.x = x;
    const Tensor y = dense.y.first(x.rows());
    if (const auto activation = dense.module.activation) {
      dense.linear.activation_forward(kernels_, x, *activation, dense.pre.first(x.rows()), y);
    } else {
      dense.linear.forward(kernels_, x, y);
    }
    x = y;
  }
  return x;
}

Tensor Pooler::pool(const StepContext& step, Tensor hidden) {
  const int64_t sequences = step.batch.num_sequences;
  if (reads_first_tokens()) return hidden.first(sequences);
  const Tensor pooled = pooled_.first(sequences);
  if (places_) {
    kernels_.sequence_maxima(hidden, step.batch.cu_seqlens, pooled, places_.first(sequences));
  } else {
    kernels_.sequence_means(hidden, step.batch.cu_seqlens, pooled);
  }
  return pooled;
}

void Pooler::backward(const StepContext& step, Tensor dembeddings, Tensor dhidden) {
  Tensor dy = dembeddings;
  for (size_t i = dense_.size(); i-- > 0;) {
    const Dense& dense = dense_[i];
    const Tensor dx = dense.dx.first(dy.rows());
    if (const auto activation = dense.module.activation) {
      dense.linear.activation_backward(kernels_, dy, {dense.pre.first(dy.rows()), *activation},
                                       dense.x, dx, Into::kOverwrite);
    } else {
      dense.linear.backward(kernels_, dy, dense.x, dx, Into::kOverwrite);
    }
    dy = dx;
  }
  pool_backward(step, dy, dhidden);
}

void Pooler::pool_backward(const StepContext& step, Tensor dpooled, Tensor dhidden) {
  if (reads_first_tokens()) {
    kernels_.convert(dpooled, dhidden);
  } else if (places_) {
    kernels_.sequence_maxima_backward(dpooled, places_.first(step.batch.num_sequences), dhidden);
  } else {
    kernels_.sequence_means_backward(dpooled, step.batch.cu_seqlens, dhidden);
  }
}

// The head of tasks on sequences (classes, scores or sets of classes). It reads the first token of
// each sequence: logits [B,C] = classifier(dropout(activation(dense(hidden[first])))). These are
// BERT's pooler and classifier, or the layers that the architecture has in their place. Where G
// sequences are one example, it returns their logits as [B/G,G*C].
class SequenceHead final : public Head {
 public:
  SequenceHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config),
        names_(sequence_head_names(config)),
        kernels_(kernels),
        dense_(parameters, names_.dense),
        classifier_(parameters, names_.classifier) {
    if (!names_.norm.empty()) norm_.emplace(parameters, names_.norm, config.layer_norm_eps);
  }

  Tensor selected(const BatchTensors& batch) const override {
    return config_.pools_mean ? Tensor() : batch.cu_seqlens.first(batch.num_sequences);
  }
  int64_t most_selected(const BatchLimits& limits) const override {
    return config_.pools_mean ? 0 : limits.sequences;
  }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    make_all(arena, {&dropped_, &pre_, &pooled_, &dpooled_},
             {limits.sequences, config_.hidden_size});
    if (norm_) {
      activated_ = arena.make(DType::kF32, {limits.sequences, config_.hidden_size});
      norm_->allocate(arena, limits.sequences);
    }
    make_all(arena, {&logits_, &dlogits_}, {limits.sequences, config_.num_outputs()});
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const int64_t sequences = step.batch.num_sequences;
    // first_ [B,H]: the first tokens, dropped if the architecture does, or the means of all tokens.
    const Tensor pooled = pooled_.first(sequences), logits = logits_.first(sequences);
    first_ = hidden;
    if (config_.pools_mean) {
      first_ = dropped_.first(sequences);
      kernels_.sequence_means(hidden, step.batch.cu_seqlens, first_);
    } else if (names_.drops_before_dense) {
      first_ = dropped_.first(sequences);
      kernels_.dropout(hidden, before(step), step.state, first_);
    }
    // pooled [B,H] = dropout(norm(activation(dense(first_)))); logits [B,C].
    const Tensor activated = norm_ ? activated_.first(sequences) : pooled;
    dense_.activation_forward(kernels_, first_, names_.activation, pre_.first(sequences),
                              activated);
    if (norm_) {
      kernels_.layer_norm_forward(activated, norm_->parameters(), pooled,
                                  norm_->statistics(sequences));
    }
    kernels_.dropout(pooled, after(step), step.state, pooled);
    classifier_.forward(kernels_, pooled, logits);
    if (step.batch.labelled()) {
      add_loss(step, of_examples(step, logits),
               step.training ? of_examples(step, dlogits_.first(sequences)) : Tensor());
    }
    return of_examples(step, logits);
  }

  void backward(const StepContext& step, Tensor dhidden) override {
    const int64_t sequences = step.batch.num_sequences;
    const Tensor dpooled = dpooled_.first(sequences);
    classifier_.backward(kernels_, dlogits_.first(sequences), pooled_.first(sequences), dpooled,
                         Into::kOverwrite);
    // dpooled [B,H], back through dropout, norm and dense layer.
    kernels_.dropout(dpooled, after(step), step.state, dpooled);
    if (norm_) {
      kernels_.layer_norm_backward(dpooled, norm_->normalized(activated_.first(sequences)),
                                   norm_->parameters(), dpooled, norm_->gradients());
    }
    // The classifier's input is no longer needed, so its memory takes the gradient of the mean.
    const Tensor dfirst = config_.pools_mean ? pooled_.first(sequences) : dhidden;
    dense_.activation_backward(kernels_, dpooled, {pre_.first(sequences), names_.activation},
                               first_, dfirst, Into::kOverwrite);
    if (config_.pools_mean) {
      kernels_.sequence_means_backward(dfirst, step.batch.cu_seqlens, dhidden);
    } else if (names_.drops_before_dense)
      kernels_.dropout(dhidden, before(step), step.state, dhidden);
  }

 private:
  // The same memory with a row for each example.
  static Tensor of_examples(const StepContext& step, Tensor of_sequences) {
    const int64_t group = step.batch.sequences_per_example;
    Tensor rows = of_sequences;
    rows.shape[0] /= group;
    rows.shape[1] *= group;
    return rows;
  }

  void add_loss(const StepContext& step, Tensor logits, Tensor dlogits) {
    const BatchTensors& batch = step.batch;
    const LossInputs of_targets{logits, batch.targets, batch.weights};
    const LossInputs of_labels{logits, batch.labels, batch.weights};
    const LossKind loss = traits(config_.task).loss;
    if (loss == LossKind::kSquaredError) {
      kernels_.mean_squared_error(of_targets, step.state, dlogits);
    } else if (loss == LossKind::kReranking) {
      const Tensor targets = batch.targets ? batch.targets : batch.text_scores;
      kernels_.reranking_loss({logits, targets, batch.weights}, config_.reranking, step.state,
                              dlogits);
    } else if (loss == LossKind::kBinaryCrossEntropy) {
      const BinaryLoss weighted{.focal_gamma = step.focal_gamma,
                                .positive_weights = step.positive_weights};
      if (weighted.is_plain()) {
        kernels_.binary_cross_entropy(of_targets, step.state, dlogits);
      } else {
        kernels_.weighted_binary_cross_entropy(of_targets, weighted, step.state, dlogits);
      }
    } else if (step.focal_gamma > 0) {
      kernels_.focal_cross_entropy(of_labels, step.focal_gamma, step.state, dlogits);
    } else if (batch.teacher) {
      kernels_.distilled_cross_entropy(of_labels, batch.teacher, step.distillation,
                                       step.label_smoothing, step.state, dlogits);
    } else {
      kernels_.cross_entropy(of_labels, step.label_smoothing, step.state, dlogits);
    }
  }

  Dropout before(const StepContext& step) const {
    return step.dropout(config_.pooler_dropout(), kFirstTokenSite, DropoutRows::kSequences);
  }
  Dropout after(const StepContext& step) const {
    return step.dropout(config_.head_dropout(), kClassifierSite, DropoutRows::kSequences);
  }

  const ModelConfig& config_;
  const SequenceHeadNames names_;
  Kernels& kernels_;
  Linear dense_, classifier_;
  std::optional<LayerNorm> norm_;
  Tensor first_;                             // [B,H], the dense layer's input in the last forward
  Tensor dropped_, pre_, pooled_, dpooled_;  // [B,H]; dropped_ has the mean where that is pooled
  Tensor activated_;                         // [B,H], with a norm
  Tensor logits_, dlogits_;                  // [B,C]
};

// The head of tasks on tokens (classes, where answers start and end, or a teacher's hidden states):
// logits [T,C] = classifier(dropout(hidden)). A teacher's states have no dropout: the classifier is
// the linear map of TinyBERT (Jiao et al. 2020, arXiv:1909.10351, equation 8), with a bias as in
// its code (fit_dense). The loss of a token is the squared error averaged over the teacher's hidden
// size. The loss of an update is the mean over all tokens, special ones included. TinyBERT's code
// (torch.nn.MSELoss) and MobileBERT's feature map transfer (Sun et al. 2020, arXiv:2004.02984) have
// the same mean over tokens and dimensions: the loss then depends neither on the teacher's size nor
// on the length of texts.
class TokenHead final : public Head {
 public:
  TokenHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config), kernels_(kernels), classifier_(parameters, token_head_name(config)) {
    if (!config.transforms_tokens()) return;
    const TransformNames names = token_transform_names(config);
    transform_.emplace(config, names.dense, names.norm, names.activation, parameters, kernels);
  }

  Tensor selected(const BatchTensors&) const override { return {}; }
  int64_t most_selected(const BatchLimits&) const override { return 0; }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    dropped_ = arena.make(DType::kF32, {limits.tokens, config_.hidden_size});
    if (transform_) {
      dtransformed_ = arena.make(DType::kF32, {limits.tokens, config_.hidden_size});
      transform_->allocate(arena, limits.tokens);
    }
    make_all(arena, {&logits_, &dlogits_}, {limits.tokens, config_.num_outputs()});
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const int64_t tokens = step.batch.num_tokens;
    const Tensor dropped = dropped_.first(tokens), logits = logits_.first(tokens);
    if (transform_) transform_->forward(hidden, dropped);
    kernels_.dropout(transform_ ? dropped : hidden, dropout(step), step.state, dropped);
    classifier_.forward(kernels_, dropped, logits);
    if (step.batch.labelled()) {
      add_loss(step, logits, step.training ? dlogits_.first(tokens) : Tensor());
    }
    return logits;
  }

  void backward(const StepContext& step, Tensor dhidden) override {
    const int64_t tokens = step.batch.num_tokens;
    const Tensor d = transform_ ? dtransformed_.first(tokens) : dhidden;
    classifier_.backward(kernels_, dlogits_.first(tokens), dropped_.first(tokens), d,
                         Into::kOverwrite);
    kernels_.dropout(d, dropout(step), step.state, d);
    if (transform_) transform_->backward(d, dhidden);
  }

 private:
  void add_loss(const StepContext& step, Tensor logits, Tensor dlogits) {
    const BatchTensors& batch = step.batch;
    const LossKind loss = traits(config_.task).loss;
    if (loss == LossKind::kMeanSquaredError) {
      kernels_.mean_squared_error({logits, batch.targets, batch.weights}, step.state, dlogits,
                                  OverOutputs::kMean);
    } else if (loss == LossKind::kSpanCrossEntropy) {
      kernels_.span_cross_entropy({.logits = logits,
                                   .cu_seqlens = batch.cu_seqlens,
                                   .starts = batch.labels,
                                   .ends = batch.ends,
                                   .weights = batch.weights},
                                  step.state, dlogits);
    } else if (step.focal_gamma > 0) {
      kernels_.focal_cross_entropy({logits, batch.labels, batch.weights}, step.focal_gamma,
                                   step.state, dlogits);
    } else {
      kernels_.cross_entropy({logits, batch.labels, batch.weights}, step.label_smoothing,
                             step.state, dlogits);
    }
  }

  Dropout dropout(const StepContext& step) const {
    return step.dropout(config_.head_dropout(), kClassifierSite);
  }

  const ModelConfig& config_;
  Kernels& kernels_;
  Linear classifier_;
  std::optional<Transform> transform_;
  Tensor dropped_;           // [T,H]
  Tensor dtransformed_;      // [T,H], with a transform
  Tensor logits_, dlogits_;  // [T,C]
};

// The head of masked language models. It reads the M masked tokens, whose logits [M,V] are
// norm(activation(dense(hidden))) word^T + bias. `word` are the word embeddings of the encoder
// (Press and Wolf 2017, arXiv:1608.05859). The logits exist in tiles only, so forward takes a
// labelled batch and returns [M,2]: the loss of each token and the id that the model predicts. A
// generator's head also draws an id for each token (samples()); the draws of evaluation are the
// same whatever the seed.
class MaskedLmHead final : public Head {
 public:
  MaskedLmHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config),
        names_(masked_lm_head_names(config)),
        kernels_(kernels),
        dense_(parameters, names_.dense),
        norm_(parameters, names_.norm, config.layer_norm_eps),
        decoder_(parameters.factor(names_.decoder)),
        bias_(parameters.parameter(names_.bias)) {}

  Tensor selected(const BatchTensors& batch) const override { return batch.masked; }
  int64_t most_selected(const BatchLimits& limits) const override { return limits.most_masked(); }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    const int64_t rows = limits.most_masked();
    make_all(arena, {&pre_, &activated_, &normalized_, &dnormalized_},
             {rows, config_.embedding_width()});
    norm_.allocate(arena, rows);
    const TileSize tile = Kernels::vocabulary_tile(rows, config_.vocab_size);
    tile_ = arena.make(DType::kF32, {tile.rows, tile.columns});
    predictions_ = arena.make(DType::kF32, {rows, 2});
    if (config_.is_generator) all_samples_ = arena.make(DType::kI32, {rows});
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const int64_t rows = step.batch.num_masked;
    const Tensor activated = activated_.first(rows);
    const Tensor normalized = normalized_.first(rows), predictions = predictions_.first(rows);
    // normalized [M,E] = norm(activation(dense(hidden))).
    hidden_ = hidden;
    dense_.activation_forward(kernels_, hidden, names_.activation, pre_.first(rows), activated);
    kernels_.layer_norm_forward(activated, norm_.parameters(), normalized, norm_.statistics(rows));
    // The loss over V logits. In training this also makes the gradients of all that is read here.
    VocabularyOutputs outputs{.tile = tile_, .predictions = predictions};
    if (step.training) {
      outputs.dx = dnormalized_.first(rows);
      outputs.dw = decoder_.gradient();
      outputs.dbias = bias_.gradient();
    }
    if (config_.is_generator) outputs.samples = samples_ = all_samples_.first(rows);
    kernels_.vocabulary_cross_entropy(
        {normalized, bias_.value(), step.batch.labels, step.batch.weights, draws(step)},
        decoder_.weight(), step.label_smoothing, step.state, outputs);
    return predictions;
  }

  // The gradients of the decoder and of the bias were made in forward.
  void backward(const StepContext& step, Tensor dhidden) override {
    const int64_t rows = step.batch.num_masked;
    const Tensor d = dnormalized_.first(rows);
    kernels_.layer_norm_backward(d, norm_.normalized(activated_.first(rows)), norm_.parameters(), d,
                                 norm_.gradients());
    dense_.activation_backward(kernels_, d, {pre_.first(rows), names_.activation}, hidden_, dhidden,
                               Into::kOverwrite);
  }

  Tensor samples() const override { return samples_; }

 private:
  static SampleDraws draws(const StepContext& step) {
    return {.key = step.training ? sampling_key(step.state.inputs) : evaluation_sampling_key(),
            .first_token = step.state.first_token,
            .tokens = step.batch.masked};
  }

  const ModelConfig& config_;
  const MaskedLmHeadNames names_;
  Kernels& kernels_;
  Linear dense_;
  LayerNorm norm_;
  Parameter& decoder_;  // [V,E], the word embeddings where the config ties them
  Parameter& bias_;
  Tensor hidden_;                                      // [M,H], the input of the last forward
  Tensor pre_, activated_, normalized_, dnormalized_;  // [M,E]
  Tensor tile_;                   // of the logits [M,V], which are never in memory as a whole
  Tensor predictions_;            // [M,2]
  Tensor all_samples_, samples_;  // int32 [M], of a generator; from the last forward pass
};

// The head of BERT's own pre-training (Devlin et al. 2018, arXiv:1810.04805, section 3.1): the
// masked language model's, and logits [B,2] = classifier(dropout(activation(dense(first)))) of the
// first token of each sequence. The loss is the mean over masked tokens plus the mean over
// sequences, as in google-research/bert's run_pretraining.py. In training, both are one sum:
// step.second_weight is the factor between the two means. Returns [B+M,2]: for each sequence, in
// order, its logits, and then what MaskedLmHead returns for its masked tokens.
class NextSentenceHead final : public Head {
 public:
  NextSentenceHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config),
        names_(next_sentence_head_names(config)),
        kernels_(kernels),
        masked_(config, parameters, kernels),
        dense_(parameters, names_.dense),
        classifier_(parameters, names_.classifier) {}

  Tensor selected(const BatchTensors& batch) const override { return batch.first_and_masked; }
  int64_t most_selected(const BatchLimits& limits) const override {
    return limits.most_masked() + limits.sequences;
  }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    masked_.allocate(arena, limits);
    const int64_t rows = most_selected(limits), sequences = limits.sequences;
    make_all(arena, {&hidden_, &dhidden_}, {rows, config_.hidden_size});
    make_all(arena, {&pre_, &pooled_, &dpooled_}, {sequences, config_.hidden_size});
    make_all(arena, {&logits_, &dlogits_}, {sequences, config_.num_outputs()});
    weights_ = arena.make(DType::kF32, {sequences});
    make_all(arena, {&unordered_, &outputs_}, {rows, config_.num_outputs()});
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const BatchTensors& batch = step.batch;
    const int64_t masked = batch.num_masked, sequences = batch.num_sequences;
    // The states of masked tokens [M,H], and behind them the states of first tokens [B,H].
    const Tensor states = hidden_.first(masked + sequences);
    kernels_.gather_rows(hidden, batch.masked_then_first, states);
    const Tensor predictions = masked_.forward(step, states.first(masked));
    const Tensor pooled = pooled_.first(sequences), logits = logits_.first(sequences);
    dense_.activation_forward(kernels_, states.slice(masked, sequences), names_.activation,
                              pre_.first(sequences), pooled);
    kernels_.dropout(pooled, dropout(step), step.state, pooled);
    classifier_.forward(kernels_, pooled, logits);
    if (batch.next_sentences) add_loss(step, logits);
    const Tensor unordered = unordered_.first(masked + sequences);
    kernels_.convert(predictions, unordered.first(masked));
    kernels_.convert(logits, unordered.slice(masked, sequences));
    const Tensor outputs = outputs_.first(masked + sequences);
    kernels_.scatter_rows(unordered, batch.masked_then_first, outputs);
    return outputs;
  }

  void backward(const StepContext& step, Tensor dhidden) override {
    const int64_t masked = step.batch.num_masked, sequences = step.batch.num_sequences;
    const Tensor dstates = dhidden_.first(masked + sequences), dpooled = dpooled_.first(sequences);
    masked_.backward(step, dstates.first(masked));
    classifier_.backward(kernels_, dlogits_.first(sequences), pooled_.first(sequences), dpooled,
                         Into::kOverwrite);
    kernels_.dropout(dpooled, dropout(step), step.state, dpooled);
    dense_.activation_backward(kernels_, dpooled, {pre_.first(sequences), names_.activation},
                               hidden_.slice(masked, sequences), dstates.slice(masked, sequences),
                               Into::kOverwrite);
    kernels_.scatter_rows(dstates, step.batch.masked_then_first, dhidden);
  }

 private:
  Dropout dropout(const StepContext& step) const {
    return step.dropout(config_.head_dropout(), kClassifierSite, DropoutRows::kSequences);
  }

  void add_loss(const StepContext& step, Tensor logits) {
    const int64_t sequences = logits.rows();
    StepState own = step.state;
    own.loss_sum = own.examples = 0;
    Tensor weights, dlogits;  // null in evaluation
    if (step.training) {
      const std::vector<float> all(static_cast<size_t>(sequences), step.second_weight);
      weights = weights_.first(sequences);
      copy_in(weights, all.data());
      dlogits = dlogits_.first(sequences);
    }
    kernels_.cross_entropy({logits, step.batch.next_sentences, weights}, step.label_smoothing, own,
                           dlogits);
    if (step.training) {
      step.state.loss_sum += own.loss_sum;
    } else {
      step.state.second_loss_sum += own.loss_sum;
      step.state.second_examples += own.examples;
    }
  }

  const ModelConfig& config_;
  const NextSentenceHeadNames names_;
  Kernels& kernels_;
  MaskedLmHead masked_;
  Linear dense_, classifier_;
  Tensor hidden_, dhidden_;        // [M+B,H]
  Tensor pre_, pooled_, dpooled_;  // [B,H]
  Tensor logits_, dlogits_;        // [B,2]
  Tensor weights_;                 // [B]
  Tensor unordered_, outputs_;     // [M+B,2]
};

// The head of ELECTRA's discriminator (Clark et al. 2020, arXiv:2003.10555). It reads every token:
// logits [T,1] = prediction(activation(dense(hidden))), which are positive if it predicts that the
// token was replaced. It has no dropout.
class DetectionHead final : public Head {
 public:
  DetectionHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config),
        names_(detection_head_names(config)),
        kernels_(kernels),
        dense_(parameters, names_.dense),
        prediction_(parameters, names_.prediction) {}

  Tensor selected(const BatchTensors&) const override { return {}; }
  int64_t most_selected(const BatchLimits&) const override { return 0; }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    make_all(arena, {&pre_, &activated_, &dactivated_}, {limits.tokens, config_.hidden_size});
    make_all(arena, {&logits_, &dlogits_}, {limits.tokens, 1});
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const int64_t tokens = step.batch.num_tokens;
    const Tensor activated = activated_.first(tokens), logits = logits_.first(tokens);
    hidden_ = hidden;
    dense_.activation_forward(kernels_, hidden, names_.activation, pre_.first(tokens), activated);
    prediction_.forward(kernels_, activated, logits);
    if (step.batch.labelled()) {
      kernels_.binary_cross_entropy({logits, step.batch.targets, step.batch.weights}, step.state,
                                    step.training ? dlogits_.first(tokens) : Tensor());
    }
    return logits;
  }

  void backward(const StepContext& step, Tensor dhidden) override {
    const int64_t tokens = step.batch.num_tokens;
    const Tensor d = dactivated_.first(tokens);
    prediction_.backward(kernels_, dlogits_.first(tokens), activated_.first(tokens), d,
                         Into::kOverwrite);
    dense_.activation_backward(kernels_, d, {pre_.first(tokens), names_.activation}, hidden_,
                               dhidden, Into::kOverwrite);
  }

 private:
  const ModelConfig& config_;
  const DetectionHeadNames names_;
  Kernels& kernels_;
  Linear dense_, prediction_;
  Tensor hidden_;                        // [T,H], the input of the last forward
  Tensor pre_, activated_, dactivated_;  // [T,H]
  Tensor logits_, dlogits_;              // [T,1]
};

// The head of text embeddings. The logits [B,D] are the embedding of each sequence, by the config's
// pooling and Dense modules. It has no backward pass.
class PooledHead final : public Head {
 public:
  PooledHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : pooler_(config, parameters, kernels) {}

  Tensor selected(const BatchTensors& batch) const override { return pooler_.selected(batch); }
  int64_t most_selected(const BatchLimits& limits) const override {
    return pooler_.most_selected(limits);
  }
  void allocate(Arena& arena, const BatchLimits& limits) override {
    pooler_.allocate(arena, limits);
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    assert(!step.training);
    return pooler_.forward(step, hidden);
  }

  void backward(const StepContext&, Tensor) override { assert(false); }

 private:
  Pooler pooler_;
};

// The head of tasks that compare the embeddings of the texts of a row of data: G sequences of the
// batch, which has B of such groups. The logits are values beside the loss: [B,1] or [B,2], as
// GroupLoss says. Its parameters belong to Dense modules.
class GroupHead final : public Head {
 public:
  GroupHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels,
            Communicator* workers)
      : config_(config), pooler_(config, parameters, kernels), loss_(config, kernels, workers) {}

  Tensor selected(const BatchTensors& batch) const override { return pooler_.selected(batch); }
  int64_t most_selected(const BatchLimits& limits) const override {
    return pooler_.most_selected(limits);
  }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    pooler_.allocate(arena, limits);
    dembeddings_ = arena.make(DType::kF32, {limits.sequences, config_.embedding_dimension()});
    loss_.allocate(arena, limits);
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    if (step.batch.num_sequences == 0) return loss_.compute(step, {}, {});
    if (step.batch.sequences_per_example == 1) return pooler_.forward(step, hidden);
    const Tensor dembeddings =
        step.training ? dembeddings_.first(step.batch.num_sequences) : Tensor();
    return loss_.compute(step, pooler_.forward(step, hidden), dembeddings);
  }

  void backward(const StepContext& step, Tensor dhidden) override {
    const Tensor own = dembeddings_.first(step.batch.num_sequences);
    pooler_.backward(step, step.dembeddings ? step.dembeddings : own, dhidden);
  }

 private:
  const ModelConfig& config_;
  Pooler pooler_;
  GroupLoss loss_;
  Tensor dembeddings_;  // [B*G,D]
};

// The head of a teacher's hidden states. It reads every token: the logits [T,H] are the hidden
// states themselves. It has no parameters and no backward pass.
class StateHead final : public Head {
 public:
  Tensor selected(const BatchTensors&) const override { return {}; }
  int64_t most_selected(const BatchLimits&) const override { return 0; }
  void allocate(Arena&, const BatchLimits&) override {}

  Tensor forward(const StepContext& step, Tensor hidden) override {
    assert(!step.training);
    return hidden.first(step.batch.num_tokens);
  }

  void backward(const StepContext&, Tensor) override { assert(false); }
};

}  // namespace

std::unique_ptr<Head> make_head(const ModelConfig& config, Parameters& parameters, Kernels& kernels,
                                Communicator* workers) {
  switch (traits(config.task).rows) {
    case HeadRows::kSequences:
      return std::make_unique<SequenceHead>(config, parameters, kernels);
    case HeadRows::kTokens:
      return std::make_unique<TokenHead>(config, parameters, kernels);
    case HeadRows::kPooled:
      return std::make_unique<PooledHead>(config, parameters, kernels);
    case HeadRows::kGroups:
      return std::make_unique<GroupHead>(config, parameters, kernels, workers);
    case HeadRows::kStates:
      return std::make_unique<StateHead>();
    case HeadRows::kReplaced:
      return std::make_unique<DetectionHead>(config, parameters, kernels);
    case HeadRows::kMaskedAndFirst:
      return std::make_unique<NextSentenceHead>(config, parameters, kernels);
    case HeadRows::kMasked:
      break;
  }
  return std::make_unique<MaskedLmHead>(config, parameters, kernels);
}

}  // namespace berth
