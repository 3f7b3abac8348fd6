#include "trainer/cpu/network/encoder.h"

#include <algorithm>
#include <span>

#include "trainer/model/part_names.h"

namespace berth {

Encoder::Encoder(const ModelConfig& config, const LoraOptions& lora, Parameters& parameters,
                 Kernels& kernels)
    : config_(config),
      parameters_(parameters),
      kernels_(kernels),
      embeddings_(config, parameters, kernels) {
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
  embedded_ = arena.make(DType::kF32, {tokens, hidden});
  middle_ = arena.make(DType::kF32, {tokens, hidden});
  recomputes_ = limits.recomputes;
  if (!recomputes_) hidden_ = arena.make(DType::kF32, {tokens, hidden});
  for (Layer& layer : layers_) {
    layer.output = recomputes_ ? arena.make(DType::kF32, {tokens, hidden}) : hidden_;
    if (recomputes_ && config_.normalizes_first) {
      layer.sum = arena.make(DType::kF32, {tokens, hidden});
    }
  }
  if (most_selected > 0) spread_ = arena.make(DType::kF32, {tokens, hidden});
  if (config_.normalizes_first) {
    dresidual_.all = arena.make(DType::kF32, {tokens, hidden});
    dresidual_.selected = dresidual_.all;
    if (most_selected > 0) dresidual_.selected = arena.make(DType::kF32, {tokens, hidden});
  }
  allocate_layers(arena, limits, most_selected);
  if (convolution_) convolution_->allocate(arena, limits);
  for (Tensor* each : {&scratch_.hidden, &scratch_.second_hidden}) {
    *each = arena.make(DType::kF32, {tokens, hidden});
  }
  const int64_t wide = std::max(std::max<int64_t>(3, config_.conv_kernel_size) * hidden,
                                (config_.is_gated ? 2 : 1) * config_.intermediate_size);
  for (Tensor* each : {&scratch_.wide, &scratch_.second_wide}) {
    *each = arena.make(DType::kF32, {tokens, wide});
  }
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
Tensor Encoder::residual_of(const StepContext& step, size_t i) const {
  if (i == 0 || !config_.normalizes_first) return layers_[i].input;
  return layers_[i - 1].feed_forward.sum(step.batch.num_tokens);
}

// Returns the layer's output.
Tensor Encoder::forward_layer(const StepContext& step, size_t i) {
  Layer& layer = layers_[i];
  const Tensor selected = selected_of(step, i);
  const int64_t rows = selected ? selected.rows() : step.batch.num_tokens;
  const Tensor middle = middle_.first(rows), output = layer.output.first(rows);
  layer.attention.forward(step, layer.input, residual_of(step, i), selected, middle, scratch_);
  const Tensor residual = config_.normalizes_first ? layer.attention.sum(rows) : middle;
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
  Tensor x = embedded_.first(step.batch.num_tokens);
  embeddings_.forward(step, x);
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
  if (is_apart) kernels_.add(dresidual.all, d);
  if (convolution_) convolution_->add_input_gradient(d);
  if (positions_) positions_->finish_backward();
  embeddings_.backward(step, d);
}

}  // namespace berth
