#include "trainer/cpu/network/encoder.h"

#include <algorithm>
#include <span>

#include "trainer/cpu/network/layer_parts.h"
#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {

Embeddings::Embeddings(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      word_(parameters.parameter(embedding_names(config).word + ".weight")) {
  const EmbeddingNames names = embedding_names(config);
  if (!names.norm.empty()) norm_.emplace(parameters, names.norm, config.layer_norm_eps);
  if (!names.position.empty()) position_ = &parameters.parameter(names.position + ".weight");
  if (!names.token_type.empty()) token_type_ = &parameters.parameter(names.token_type + ".weight");
  if (!names.task_type.empty()) task_type_ = &parameters.parameter(names.task_type + ".weight");
  if (!names.projection.empty()) projection_.emplace(parameters, names.projection);
}

EmbeddingTables Embeddings::tables() const {
  return {.word = word_.value(),
          .position = position_ ? position_->value() : Tensor(),
          .type = token_type_ ? token_type_->value() : Tensor(),
          .shared = task_type_ ? task_type_->value().first(1) : Tensor()};
}

EmbeddingGradients Embeddings::gradients() const {
  return {.dword = word_.gradient(),
          .dposition = position_ ? position_->gradient() : Tensor(),
          .dtype = token_type_ ? token_type_->gradient() : Tensor(),
          .dshared = task_type_ ? task_type_->gradient() : Tensor(),
          .word_marks = word_.marks()};
}

void Embeddings::allocate(Arena& arena, const BatchLimits& limits) {
  if (norm_) {
    sum_ = arena.make(DType::kF32, {limits.tokens, config_.embedding_width()});
    norm_->allocate(arena, limits.tokens);
  }
  if (!projection_) return;
  make_all(arena, {&normalized_, &dnormalized_}, {limits.tokens, config_.embedding_width()});
}

void Embeddings::forward(const StepContext& step, Tensor y) {
  const BatchTensors& batch = step.batch;
  const int64_t tokens = batch.num_tokens;
  const Tensor normalized = projection_ ? normalized_.first(tokens) : y;
  const Tensor sum = norm_ ? sum_.first(tokens) : normalized;
  kernels_.embedding_forward(batch.embedding_ids(), tables(), sum);
  if (norm_) {
    kernels_.layer_norm_forward(sum, norm_->parameters(), normalized, norm_->statistics(tokens));
  }
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
  if (norm_) {
    kernels_.layer_norm_backward(d, norm_->normalized(sum_.first(tokens)), norm_->parameters(), d,
                                 norm_->gradients());
  }
  // Each token's gradient d [T,E] is added to the rows of the tables that it read.
  const PaddingRows padding{.word = config_.pad_token_id,
                            .position = config_.counts_from_padding() ? config_.pad_token_id : -1};
  kernels_.embedding_backward(d, batch.embedding_ids(), padding, gradients());
}

namespace {

Linear joined_intermediate(Parameters& parameters, const LayerNames& names) {
  return names.gate.empty() ? Linear(parameters, names.intermediate)
                            : Linear(parameters, names.gate, 2);
}

}  // namespace

FeedForward::FeedForward(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
                         Parameters& parameters, Kernels& kernels)
    : config_(config),
      layer_(layer),
      kernels_(kernels),
      operands_(operand_dtype(config, lora, kernels)),
      intermediate_(joined_intermediate(parameters, layer_names(config, layer))),
      output_(parameters, layer_names(config, layer).output),
      intermediate_adapter_(
          make_adapter(config, lora, layer, LayerPart::kIntermediate, parameters, kernels)),
      gate_adapter_(make_adapter(config, lora, layer, LayerPart::kGate, parameters, kernels)),
      output_adapter_(make_adapter(config, lora, layer, LayerPart::kOutput, parameters, kernels)),
      norm_(parameters, layer_names(config, layer).output_norm, config.layer_norm_eps) {}

FeedForward::FeedForward(const FeedForward& other, int64_t layer) : FeedForward(other) {
  layer_ = layer;
}

void FeedForward::allocate(Arena& arena, int64_t most_rows, const Tensor* sum_room) {
  pre_ = arena.make(kernels_.product_dtype(), {most_rows, inner_size()});
  sum_ = sum_room ? *sum_room : arena.make(DType::kF32, {most_rows, config_.hidden_size});
  norm_.allocate(arena, most_rows);
  for (auto* adapter : {&intermediate_adapter_, &gate_adapter_, &output_adapter_}) {
    if (*adapter) (*adapter)->allocate(arena, most_rows);
  }
}

Dropout FeedForward::output_dropout(const StepContext& step, Tensor selected) const {
  return step.dropout(config_.feed_forward_dropout(),
                      layer_site(layer_, LayerSite::kFeedForwardOutput), selected);
}

// A model has either this dropout or the output's dropout, so they share a site.
Dropout FeedForward::inner_dropout(const StepContext& step, Tensor selected) const {
  return step.dropout(config_.mlp_dropout, layer_site(layer_, LayerSite::kFeedForwardOutput),
                      selected);
}

Dropout FeedForward::adapter_dropout(LayerPart part, Tensor selected) const {
  return {.site = adapter_site(layer_, part), .tokens = selected};
}

void FeedForward::activate(const StepContext& step, Tensor x, Tensor selected, Tensor activated,
                           const LayerScratch& scratch) {
  if (config_.is_gated) return activate_gated(step, x, selected, activated, scratch);
  const Tensor pre = pre_.first(x.rows());
  if (!intermediate_adapter_) {
    intermediate_.activation_forward(kernels_, x, config_.hidden_act, pre, activated);
    return;
  }
  intermediate_.forward(kernels_, x, activated);
  intermediate_adapter_->forward(step, adapter_dropout(LayerPart::kIntermediate, selected), x,
                                 activated);
  kernels_.activation_forward(activated, config_.hidden_act, activated, /*kept=*/pre);
}

void FeedForward::activate_gated(const StepContext& step, Tensor x, Tensor selected,
                                 Tensor activated, const LayerScratch& scratch) {
  // Adapters add to sums in fp32 before these are kept.
  const Tensor pre = pre_.first(x.rows());
  const bool keeps_as_computed = pre.dtype == operands_;
  const Tensor sums =
      keeps_as_computed ? pre : scratch.wide_as(x.rows(), inner_size(), DType::kF32);
  intermediate_.forward(kernels_, x, sums);
  if (intermediate_adapter_) {
    intermediate_adapter_->forward(step, adapter_dropout(LayerPart::kIntermediate, selected), x,
                                   sums);
  }
  if (gate_adapter_) {
    gate_adapter_->forward(step, adapter_dropout(LayerPart::kGate, selected), x, sums);
  }
  kernels_.gated_activation_forward(sums, config_.hidden_act, activated,
                                    /*kept=*/keeps_as_computed ? Tensor() : pre);
  kernels_.dropout(activated, inner_dropout(step, selected), step.state, activated);
}

void FeedForward::forward(const StepContext& step, Tensor x, const Residual& residual,
                          Tensor selected, Tensor y, const LayerScratch& scratch) {
  const int64_t rows = x.rows();
  const Tensor activated = scratch.second_wide_as(rows, config_.intermediate_size, operands_);
  const Tensor sum = sum_.first(rows);
  activate(step, x, selected, activated, scratch);
  output_.forward(kernels_, activated, sum);
  if (output_adapter_) {
    output_adapter_->forward(step, adapter_dropout(LayerPart::kOutput, selected), activated, sum);
  }
  const Dropout dropout = output_dropout(step, selected);
  ResidualSum{kernels_, step, norm_, dropout, config_.normalizes_first}.forward(sum, residual, y);
}

void FeedForward::recompute_output(Tensor y) {
  kernels_.layer_norm_recompute(norm_.normalized(sum_.first(y.rows())), norm_.parameters(), y);
}

void FeedForward::backward(const StepContext& step, Tensor x, Tensor selected, Tensor d,
                           Tensor dresidual, const LayerScratch& scratch) {
  const int64_t rows = x.rows(), width = config_.intermediate_size;
  const Tensor doutput = scratch.hidden_as(rows, config_.hidden_size, operands_);
  const Tensor pre = pre_.first(rows);
  const Dropout dropout = output_dropout(step, selected), inner = inner_dropout(step, selected);
  // 1. doutput [R,H]: through the norm and the residual to the output of the second dense layer.
  const Into into = ResidualSum{kernels_, step, norm_, dropout, config_.normalizes_first}.backward(
      d, sum_.first(rows), dresidual, doutput);
  // 2. activated [R,F] again, where a gradient needs it, and room for dactivated [R,F]. A gated
  // layer needs the first buffer for the gradient of `pre`, twice as wide.
  const Tensor halves = scratch.second_wide_as((config_.is_gated ? 2 : 1) * rows, width, operands_);
  const Tensor activated = halves.first(rows);
  const Tensor dactivated =
      config_.is_gated ? halves.slice(rows, rows) : scratch.wide_as(rows, width, operands_);
  if (output_.reads_input() || output_adapter_) {
    if (config_.is_gated) {
      kernels_.gated_activation_forward(pre, config_.hidden_act, activated);
      kernels_.dropout(activated, inner, step.state, activated);
    } else {
      kernels_.activation_forward(pre, config_.hidden_act, activated);
    }
  }
  // 3. dactivated [R,F] and the gradients of the second dense layer. Where nothing else adds to
  // dactivated, it goes through the activation while its sums are in a cache.
  const bool is_fused = !config_.is_gated && !output_adapter_;
  output_.backward(kernels_, doutput, activated, dactivated, Into::kOverwrite,
                   is_fused ? Preactivation{pre, config_.hidden_act} : Preactivation());
  if (output_adapter_) {
    output_adapter_->backward(step, adapter_dropout(LayerPart::kOutput, selected), activated,
                              doutput, dactivated);
  }
  // 4. dpre [R,F], or [R,2F] of a gated layer, and through the first dense layer to dx in d [R,H].
  Tensor dpre = dactivated;
  if (config_.is_gated) {
    dpre = scratch.wide_as(rows, inner_size(), operands_);
    kernels_.dropout(dactivated, inner, step.state, dactivated);
    kernels_.gated_activation_backward(pre, config_.hidden_act, dactivated, dpre);
  } else if (!is_fused) {
    kernels_.activation_backward(pre, config_.hidden_act, dpre);
  }
  intermediate_.backward(kernels_, dpre, x, d, into);
  if (intermediate_adapter_) {
    intermediate_adapter_->backward(step, adapter_dropout(LayerPart::kIntermediate, selected), x,
                                    dpre, d);
  }
  if (gate_adapter_) {
    gate_adapter_->backward(step, adapter_dropout(LayerPart::kGate, selected), x, dpre, d);
  }
}

Convolution::Convolution(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      conv_(parameters, convolution_names(config).conv),
      norm_(parameters, convolution_names(config).norm, config.layer_norm_eps) {}

void Convolution::allocate(Arena& arena, const BatchLimits& limits) {
  windows_ =
      arena.make(DType::kF32, {limits.tokens, config_.hidden_size * config_.conv_kernel_size});
  make_all(arena, {&pre_, &sum_, &output_, &dx_}, {limits.tokens, config_.hidden_size});
  norm_.allocate(arena, limits.tokens);
}

Dropout Convolution::dropout(const StepContext& step) const {
  return step.dropout(config_.hidden_dropout_prob, kConvolutionSite);
}

Tensor Convolution::forward(const StepContext& step, Tensor x, Tensor layer_output) {
  const int64_t tokens = step.batch.num_tokens;
  const Tensor windows = windows_.first(tokens), pre = pre_.first(tokens);
  const Tensor sum = sum_.first(tokens), output = output_.first(tokens);
  kernels_.unfold_windows(x, step.batch.cu_seqlens, windows);
  conv_.forward(kernels_, windows, pre);
  kernels_.dropout(pre, dropout(step), step.state, pre);
  kernels_.activation_forward(pre, config_.conv_act, sum);
  kernels_.add_layer_norm_forward(
      sum, layer_output, /*dropout=*/{}, step.state, norm_.parameters(),
      {.sum = sum, .y = output, .statistics = norm_.statistics(tokens)});
  return output;
}

void Convolution::backward(const StepContext& step, Tensor d, const LayerScratch& scratch) {
  const int64_t tokens = step.batch.num_tokens;
  const Tensor windows = windows_.first(tokens), pre = pre_.first(tokens);
  const Tensor dactivated = scratch.hidden_as(tokens, config_.hidden_size, DType::kF32);
  const Tensor dwindows = scratch.wide_as(tokens, windows_.columns(), DType::kF32);
  // In the order of forward, last call first: norm and sum, activation, dropout, product, windows.
  kernels_.add_layer_norm_backward(
      d, norm_.normalized(sum_.first(tokens)), /*dropout=*/{}, step.state, norm_.parameters(),
      {.dx = dactivated, .dresidual = d, .parameters = norm_.gradients()});
  kernels_.activation_backward(pre, config_.conv_act, dactivated);
  kernels_.dropout(dactivated, dropout(step), step.state, dactivated);
  conv_.backward(kernels_, dactivated, windows, dwindows, Into::kOverwrite);
  kernels_.fold_windows(dwindows, step.batch.cu_seqlens, dx_.first(tokens));
}

void Convolution::add_input_gradient(Tensor dx) { kernels_.add(dx_.first(dx.rows()), dx); }

Encoder::Encoder(const ModelConfig& config, const LoraOptions& lora, Parameters& parameters,
                 Kernels& kernels)
    : config_(config),
      parameters_(parameters),
      kernels_(kernels),
      operands_(operand_dtype(config, lora, kernels)),
      embeddings_(config, parameters, kernels) {
  const std::string input_norm = embedding_names(config).input_norm;
  if (!input_norm.empty()) input_norm_.emplace(parameters, input_norm, config.layer_norm_eps);
  if (config.has_relative_positions()) {
    positions_ = std::make_unique<RelativePositions>(config, parameters, kernels);
  }
  if (config.conv_kernel_size > 0) {
    convolution_ = std::make_unique<Convolution>(config, parameters, kernels);
  }
  if (config.rope_theta > 0) rotary_ = std::make_unique<RotaryPositions>(config, kernels);
  if (config.position_bias_buckets > 0) {
    bias_ = std::make_unique<PositionBias>(config, parameters);
  }
  const SharedPositions positions{
      .relative = positions_.get(), .rotary = rotary_.get(), .bias = bias_.get()};
  // The layers. One that shares its parameters copies the handles, and has activations of its own.
  layers_.reserve(static_cast<size_t>(config.num_hidden_layers));
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    if (shares_parameters(config, i)) {
      const Layer& before = layers_.back();
      layers_.push_back({.attention = SelfAttention(before.attention, i),
                         .feed_forward = FeedForward(before.feed_forward, i),
                         .shares = true});
    } else {
      layers_.push_back(
          {.attention = SelfAttention(config, lora, i, positions, parameters, kernels),
           .feed_forward = FeedForward(config, lora, i, parameters, kernels),
           .shares = false});
    }
  }
  // Backward stops above what does not train.
  const std::span<const ParameterSpec> trained =
      parameters.specs().subspan(parameters.first_trained());
  const auto shallowest = std::ranges::min_element(trained, {}, &ParameterSpec::depth);
  if (shallowest == trained.end()) return;
  embeddings_train_ = shallowest->depth == 0;
  while (first_trained_ < layers_.size() && depth_of(first_trained_) < shallowest->depth) {
    ++first_trained_;
  }
}

void Encoder::allocate(Arena& arena, const BatchLimits& limits, int64_t most_selected) {
  const int64_t tokens = limits.tokens, hidden = config_.hidden_size;
  embeddings_.allocate(arena, limits);
  if (positions_) positions_->allocate(arena);
  if (bias_) bias_->allocate(arena);
  // What all layers share: their input and output, if they are restored by normalizing again.
  // Outputs are fp32 where they are residuals themselves: a residual that is normalized again needs
  // the sums of the layer before, and the convolution stands between two layers.
  embedded_ = arena.make(DType::kF32, {tokens, hidden});
  if (input_norm_) {
    normalized_ = arena.make(DType::kF32, {tokens, hidden});
    input_norm_->allocate(arena, tokens);
  }
  middle_ = arena.make(operands_, {tokens, hidden});
  recomputes_ = limits.recomputes;
  const DType outputs = recomputes_ || convolution_ ? DType::kF32 : operands_;
  if (!recomputes_) hidden_ = arena.make(outputs, {tokens, hidden});
  last_ = hidden_;
  if (outputs != DType::kF32) {
    const int64_t rows = most_selected > 0 ? std::min(most_selected, tokens) : tokens;
    last_ = arena.make(DType::kF32, {rows, hidden});
  }
  for (Layer& layer : layers_) {
    const bool ends = &layer == &layers_.back();
    layer.output = recomputes_ ? arena.make(DType::kF32, {tokens, hidden}) : ends ? last_ : hidden_;
    if (recomputes_ && config_.normalizes_first) {
      layer.sum = arena.make(DType::kF32, {tokens, hidden});
    }
  }
  // Gradients of all rows, where the last layer computes some rows only.
  if (most_selected > 0) spread_ = arena.make(DType::kF32, {tokens, hidden});
  if (config_.normalizes_first) {
    dresidual_.all = arena.make(DType::kF32, {tokens, hidden});
    dresidual_.selected = dresidual_.all;
    if (most_selected > 0) dresidual_.selected = arena.make(DType::kF32, {tokens, hidden});
  }
  // The activations of the layers, and the gradients that take their place.
  allocate_layers(arena, limits, most_selected);
  if (convolution_) convolution_->allocate(arena, limits);
  allocate_scratch(arena, tokens, most_selected);
}

void Encoder::allocate_scratch(Arena& arena, int64_t tokens, int64_t most_selected) {
  const int64_t hidden = config_.hidden_size;
  const auto single = static_cast<int64_t>(size_of(DType::kF32));
  const auto operand = static_cast<int64_t>(size_of(operands_));
  const int64_t inner = (config_.is_gated ? 2 : 1) * config_.intermediate_size;
  const auto make = [&](int64_t bytes) { return arena.make(DType::kI8, {bytes}); };
  // Gradients of [T,H]. A convolution's gradients are fp32, and so are residuals of selected
  // tokens.
  scratch_.hidden = make(tokens * hidden * (convolution_ ? single : operand));
  scratch_.second_hidden = make(hidden * std::max(tokens * operand, most_selected * single));
  // qkv [T,3H] and its gradient, which rotary positions change in fp32. The inner numbers of a
  // feed-forward part, [T,F] or [T,2F]. The windows of a convolution.
  const int64_t of_qkv = 3 * hidden * (rotary_ ? single : operand);
  scratch_.wide = make(
      tokens * std::max({of_qkv, inner * operand, config_.conv_kernel_size * hidden * single}));
  scratch_.second_wide = make(std::max(tokens * inner * operand, most_selected * hidden * single));
}

// ParameterSpec::depth of a layer's parameters.
int64_t Encoder::depth_of(size_t i) const {
  return std::count_if(layers_.begin(), layers_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                       [](const Layer& layer) { return !layer.shares; });
}

// Backward goes from the last layer to the first. A layer's activations are dead after its backward
// pass, which makes the gradients that are kept until the update. The gradients of a layer are
// therefore placed where the activations of later layers were. The first gradients, and gradients
// that need more memory, lie before the activations.
void Encoder::allocate_layers(Arena& arena, const BatchLimits& limits, int64_t most_selected) {
  const int64_t tokens = limits.tokens;
  const size_t begin = arena.position();
  if (!config_.is_generator) {
    const Tensor kept = arena.make(DType::kI8, {static_cast<int64_t>(parameters_.kept_bytes())});
    parameters_.keep_products(kept.data);
    arena.go_back(begin);
  }
  for (size_t i = layers_.size(); i-- > 0;) {
    if (recomputes_) arena.go_back(begin);  // an earlier layer needs no less than a later one
    arena.go_on_to(begin + kept_bytes(depth_of(i)));
    const int64_t rows = is_last(i) && most_selected > 0 ? std::min(most_selected, tokens) : tokens;
    layers_[i].attention.allocate(arena, tokens, rows);
    const bool keeps_sum = recomputes_ && config_.normalizes_first;
    layers_[i].feed_forward.allocate(arena, rows, keeps_sum ? &layers_[i].sum : nullptr);
  }
  arena.go_on_to(begin + kept_bytes(0));
}

// The bytes of the kept gradients that backward makes at `depth` and deeper. A generator's are all
// summed, and those in the table are the discriminator's.
size_t Encoder::kept_bytes(int64_t depth) const {
  return config_.is_generator ? 0 : parameters_.kept_bytes(depth);
}

// The tokens whose rows a layer computes; null: all tokens.
Tensor Encoder::selected_of(const StepContext& step, size_t i) const {
  return is_last(i) ? step.batch.selected : Tensor();
}

// The residual to which the layer's attention is added. Pre-normalized layers add to the sums of
// the layer before.
Residual Encoder::residual_of(const StepContext& step, size_t i) const {
  const Tensor input = layers_[i].input;
  const int64_t tokens = step.batch.num_tokens;
  if (i == 0) return embedded_.first(tokens);
  const FeedForward& before = layers_[i - 1].feed_forward;
  if (config_.normalizes_first) return before.sum(tokens);
  return input.dtype == DType::kF32 ? Residual(input) : before.output(tokens);
}

// Returns the layer's output.
Tensor Encoder::forward_layer(const StepContext& step, size_t i) {
  Layer& layer = layers_[i];
  const Tensor selected = selected_of(step, i);
  const int64_t rows = selected ? selected.rows() : step.batch.num_tokens;
  const Tensor middle = middle_.first(rows), output = layer.output.first(rows);
  layer.attention.forward(step, layer.input, residual_of(step, i), selected, middle, scratch_);
  const Residual residual = config_.normalizes_first      ? Residual(layer.attention.sum(rows))
                            : middle.dtype == DType::kF32 ? Residual(middle)
                                                          : layer.attention.output(rows);
  layer.feed_forward.forward(step, middle, residual, selected, output, scratch_);
  return output;
}

// Whether a layer's input is the output of the layer before it. The first layer reads the
// embeddings. If the model has a convolution, the second layer reads the convolution's output.
bool Encoder::reads_layer_before(size_t i) const { return i > (convolution_ ? 1u : 0u); }

// Restores the tensors that the backward pass of a layer needs and that the forward passes of later
// layers have overwritten. With recomputation, that is `middle_` and the layer's activations;
// without it, `middle_` and the layer's input. Nothing has overwritten `middle_` and the
// activations of the last layer.
void Encoder::restore_layer(const StepContext& step, size_t i) {
  Layer& layer = layers_[i];
  if (recomputes_) {
    if (!is_last(i)) forward_layer(step, i);  // dropout draws the same masks again
    return;
  }
  if (!is_last(i)) layer.attention.recompute_output(middle_.first(step.batch.num_tokens));
  if (reads_layer_before(i)) layers_[i - 1].feed_forward.recompute_output(layer.input);
}

Tensor Encoder::forward(const StepContext& step) {
  const int64_t tokens = step.batch.num_tokens;
  Tensor x = embedded_.first(tokens);
  embeddings_.forward(step, x);
  if (input_norm_) {
    x = normalized_.first(tokens);
    kernels_.layer_norm_forward(embedded_.first(tokens), input_norm_->parameters(), x,
                                input_norm_->statistics(tokens));
  }
  if (positions_) positions_->forward(step);
  if (rotary_) rotary_->prepare(step);
  if (bias_) bias_->prepare();
  for (size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].input = x;
    x = forward_layer(step, i);
    if (i == 0 && convolution_) x = convolution_->forward(step, layers_[i].input, x);
  }
  return x;
}

void Encoder::backward(const StepContext& step, Tensor d, const GradientsFinal& are_final) {
  const int64_t tokens = step.batch.num_tokens;
  // Gradients of relative positions are sums over the layers.
  if (positions_) positions_->begin_backward();
  const bool is_apart = config_.normalizes_first;  // the gradient of the residual
  SelfAttention::SpreadGradient dresidual;
  if (is_apart) {
    dresidual = {.selected = dresidual_.selected.first(d.rows()),
                 .all = dresidual_.all.first(tokens)};
    kernels_.zero(dresidual.selected);
  }
  for (size_t i = layers_.size(); i-- > first_trained_;) {
    Layer& layer = layers_[i];
    const Tensor selected = selected_of(step, i);
    restore_layer(step, i);
    if (i == 0 && convolution_) convolution_->backward(step, d, scratch_);
    layer.feed_forward.backward(step, middle_.first(d.rows()), selected, d, dresidual.selected,
                                scratch_);
    const Tensor dx = selected ? spread_.first(tokens) : d;
    if (is_apart && !selected) dresidual.all = dresidual.selected;
    layer.attention.backward(step, layer.input, selected, {d, dx}, dresidual, scratch_);
    d = dx;
    dresidual.selected = dresidual.all;
    // A layer that shares its parameters with the layer before it is not the last to add to them.
    if (are_final && !layer.shares) are_final(depth_of(i));
  }
  if (!embeddings_train_) return;
  // The embeddings get what flows through the layers, the residual, the convolution and positions.
  if (input_norm_) {
    kernels_.layer_norm_backward(d, input_norm_->normalized(embedded_.first(tokens)),
                                 input_norm_->parameters(), d, input_norm_->gradients());
  }
  if (is_apart) kernels_.add(dresidual.all, d);
  if (convolution_) convolution_->add_input_gradient(d);
  if (positions_) positions_->finish_backward();
  embeddings_.backward(step, d);
}

}  // namespace berth
