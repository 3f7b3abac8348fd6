#include "trainer/cpu/network/attention.h"

#include "trainer/cpu/network/layer_parts.h"
#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {

SelectedAttention::SelectedAttention(const ModelConfig& config, int64_t layer, PositionBias* bias,
                                     DType operands, Parameters& parameters, Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      bias_(bias),
      q_linear_(parameters, layer_names(config, layer).query),
      kv_linear_(parameters, layer_names(config, layer).key, 2),
      operands_(operands) {}

void SelectedAttention::allocate(Arena& arena, int64_t tokens, int64_t most_selected) {
  const int64_t hidden = config_.hidden_size;
  q_ = arena.make(operands_, {most_selected, hidden});
  kv_ = arena.make(operands_, {tokens, 2 * hidden});
  log_sum_exp_ = arena.make(DType::kF32, {most_selected, config_.num_attention_heads});
}

AttentionInputs SelectedAttention::inputs(const StepContext& step, Tensor selected,
                                          const Dropout& dropout) const {
  return {.qkv = kv_.first(step.batch.num_tokens),
          .q = q_.first(selected.rows()),
          .selected = selected,
          .cu_seqlens = step.batch.cu_seqlens,
          .num_heads = static_cast<int>(config_.num_attention_heads),
          .bias = bias_ ? bias_->inputs() : PositionBiasInputs(),
          .dropout = dropout};
}

void SelectedAttention::forward(const StepContext& step, Dropout dropout, Tensor x, Tensor selected,
                                ConstTensor selected_x, Tensor out) {
  const int64_t rows = selected.rows();
  q_linear_.forward(kernels_, selected_x, q_.first(rows));
  kv_linear_.forward(kernels_, x, kv_.first(x.rows()));
  kernels_.attention_forward(inputs(step, selected, dropout), step.state, out,
                             log_sum_exp_.first(rows));
}

void SelectedAttention::backward(const StepContext& step, Dropout dropout, Tensor dout, Tensor x,
                                 Tensor selected, Tensor out, Tensor dselected_x, Into into,
                                 Tensor dx, const LayerScratch& scratch) {
  const int64_t tokens = x.rows(), rows = selected.rows(), hidden = x.columns();
  const Tensor dq = scratch.hidden_as(rows, hidden, operands_);
  const Tensor dkv = scratch.wide_as(tokens, kv_.columns(), operands_);
  // 1. dq [R,H] and dkv [T,2H].
  kernels_.attention_backward(
      dout, inputs(step, selected, dropout), step.state, out, log_sum_exp_.first(rows),
      {.dqkv = dkv, .dq = dq, .dbias = bias_ ? bias_->gradient() : Tensor()});
  // 2. Through the queries' product, to the selected rows of x. They are spread over dx [T,H].
  const Tensor selected_x = scratch.second_wide_as(rows, hidden, x.dtype);
  kernels_.gather_rows(x, selected, selected_x);
  q_linear_.backward(kernels_, dq, selected_x, dselected_x, into);
  kernels_.scatter_rows(dselected_x, selected, dx);
  // 3. Through the product of keys and values, which reads all rows.
  kv_linear_.backward(kernels_, dkv, x, dx, Into::kAdd);
}

DisentangledAttention::DisentangledAttention(const ModelConfig& config, const LoraOptions& lora,
                                             int64_t layer, RelativePositions& positions,
                                             Parameters& parameters, Kernels& kernels)
    : hidden_size_(config.hidden_size),
      site_(layer_site(layer, LayerSite::kRelativePositions)),
      positions_(positions),
      kernels_(kernels),
      qk_linear_(parameters, layer_names(config, layer).query, 2) {
  for (const LayerPart part : {LayerPart::kQuery, LayerPart::kKey}) {
    auto adapter = make_adapter(config, lora, layer, part, parameters, kernels);
    if (!adapter) continue;
    adapters_.push_back({{.site = position_adapter_site(layer, part), .rows = DropoutRows::kTable},
                         std::move(*adapter)});
  }
}

void DisentangledAttention::allocate(Arena& arena) {
  qk_ = arena.make(DType::kF32, {positions_.most_rows(), 2 * hidden_size_});
  for (Adapted& each : adapters_) each.adapter.allocate(arena, positions_.most_rows());
}

RelativePositionInputs DisentangledAttention::inputs() const {
  return {.qk = qk_.first(positions_.num_rows()), .rows = positions_.row_of_distance()};
}

RelativePositionInputs DisentangledAttention::forward(const StepContext& step) {
  const Tensor dropped = positions_.dropped(step, site_), qk = qk_.first(positions_.num_rows());
  qk_linear_.forward(kernels_, dropped, qk);
  for (Adapted& each : adapters_) {
    each.adapter.forward(step, positions_.counted(each.dropout), dropped, qk);
  }
  return inputs();
}

void DisentangledAttention::backward(const StepContext& step) {
  const Tensor dropped = positions_.dropped(step, site_), dpositions = positions_.dpositions();
  qk_linear_.backward(kernels_, dqk(), dropped, dpositions, Into::kOverwrite);
  for (Adapted& each : adapters_) {
    each.adapter.backward(step, positions_.counted(each.dropout), dropped, dqk(), dpositions);
  }
  positions_.add_gradient(step, site_, dpositions);
}

SelfAttention::SelfAttention(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
                             const SharedPositions& positions, Parameters& parameters,
                             Kernels& kernels)
    : config_(config),
      layer_(layer),
      kernels_(kernels),
      operands_(operand_dtype(config, lora, kernels)),
      output_linear_(parameters, layer_names(config, layer).attention_output),
      output_adapter_(
          make_adapter(config, lora, layer, LayerPart::kAttentionOutput, parameters, kernels)),
      rotary_(positions.rotary),
      bias_(positions.bias),
      norm_(parameters, layer_names(config, layer).attention_norm, config.layer_norm_eps) {
  if (positions.relative) {
    disentangled_.emplace(config, lora, layer, *positions.relative, parameters, kernels);
  }
  for (const LayerPart part : {LayerPart::kQuery, LayerPart::kKey, LayerPart::kValue}) {
    auto adapter = make_adapter(config, lora, layer, part, parameters, kernels);
    if (adapter) adapters_.push_back({part, std::move(*adapter)});
  }
  // The last layer may compute the queries of some tokens only, if its parts are separate matrices
  // and nothing else needs all queries.
  const bool is_last = layer + 1 == config.num_hidden_layers;
  const LayerNames names = layer_names(config, layer);
  const bool shortens =
      names.qkv.empty() && !positions.relative && !positions.rotary && adapters_.empty();
  if (is_last && config.reads_first_tokens() && shortens) {
    selected_.emplace(config, layer, bias_, operands_, parameters, kernels);
  } else {
    const bool is_joined = !names.qkv.empty();
    qkv_linear_.emplace(parameters, is_joined ? names.qkv : names.query, is_joined ? 1 : 3);
  }
}

SelfAttention::SelfAttention(const SelfAttention& other, int64_t layer) : SelfAttention(other) {
  layer_ = layer;
}

void SelfAttention::allocate(Arena& arena, int64_t tokens, int64_t most_selected) {
  const int64_t hidden = config_.hidden_size;
  if (selected_) {
    selected_->allocate(arena, tokens, most_selected);
  } else {
    qkv_ = arena.make(kernels_.product_dtype(), {tokens, 3 * hidden});
    log_sum_exp_ = arena.make(DType::kF32, {tokens, config_.num_attention_heads});
  }
  attended_ = arena.make(operands_, {selected_ ? most_selected : tokens, hidden});
  sum_ = arena.make(DType::kF32, {most_selected, hidden});
  norm_.allocate(arena, most_selected);
  if (disentangled_) disentangled_->allocate(arena);
  for (Adapted& each : adapters_) each.adapter.allocate(arena, tokens);
  if (output_adapter_) output_adapter_->allocate(arena, most_selected);
}

Dropout SelfAttention::probability_dropout(const StepContext& step, Tensor selected) const {
  return step.dropout(config_.attention_probs_dropout_prob,
                      layer_site(layer_, LayerSite::kAttentionProbabilities), selected);
}

Dropout SelfAttention::output_dropout(const StepContext& step, Tensor selected) const {
  return step.dropout(config_.attention_output_dropout(),
                      layer_site(layer_, LayerSite::kAttentionOutput), selected);
}

Dropout SelfAttention::adapter_dropout(LayerPart part, Tensor tokens) const {
  return {.site = adapter_site(layer_, part), .tokens = tokens};
}

AttentionInputs SelfAttention::inputs(const StepContext& step,
                                      const RelativePositionInputs& relative) const {
  return {.qkv = qkv_.first(step.batch.num_tokens),
          .cu_seqlens = step.batch.cu_seqlens,
          .num_heads = static_cast<int>(config_.num_attention_heads),
          .relative = relative,
          .bias = bias_ ? bias_->inputs() : PositionBiasInputs(),
          .window = config_.attention_window(layer_),
          .dropout = probability_dropout(step)};
}

void SelfAttention::attend(const StepContext& step, Tensor x, Tensor attended,
                           const LayerScratch& scratch) {
  const int64_t tokens = step.batch.num_tokens;
  const Tensor kept = qkv_.first(tokens);
  const Tensor qkv =
      keeps_as_computed() ? kept : scratch.wide_as(tokens, qkv_.columns(), DType::kF32);
  // qkv [T,3H] by one product, then what adapters and rotary positions do to it.
  qkv_linear_->forward(kernels_, x, qkv);
  for (Adapted& each : adapters_) {
    each.adapter.forward(step, adapter_dropout(each.part), x, qkv);
  }
  if (rotary_) rotary_->rotate(step, layer_, qkv);
  if (!keeps_as_computed()) kernels_.convert(qkv, kept);
  RelativePositionInputs relative;
  if (disentangled_) relative = disentangled_->forward(step);
  kernels_.attention_forward(inputs(step, relative), step.state, attended,
                             log_sum_exp_.first(tokens));
}

// The gradient of x goes into dx. Post-normalized, dx already holds the gradient of the residual.
void SelfAttention::attend_backward(const StepContext& step, Tensor x, Tensor attended,
                                    Tensor dattended, Tensor dx, Into into,
                                    const LayerScratch& scratch) {
  const int64_t tokens = step.batch.num_tokens;
  const Tensor dqkv = scratch.wide_as(tokens, qkv_.columns(), rotary_ ? DType::kF32 : operands_);
  RelativePositionInputs relative;
  AttentionGradients gradients{.dqkv = dqkv, .dbias = bias_ ? bias_->gradient() : Tensor()};
  if (disentangled_) {
    relative = disentangled_->inputs();
    gradients.drelative_qk = disentangled_->dqk();
  }
  // dqkv [T,3H], of the qkv that attention read: after the rotation.
  kernels_.attention_backward(dattended, inputs(step, relative), step.state, attended,
                              log_sum_exp_.first(tokens), gradients);
  if (disentangled_) disentangled_->backward(step);
  // Back through the rotation and the product to dx [T,H].
  if (rotary_) rotary_->rotate_backward(step, layer_, dqkv);
  qkv_linear_->backward(kernels_, dqkv, x, dx, into);
  for (Adapted& each : adapters_) {
    each.adapter.backward(step, adapter_dropout(each.part), x, dqkv, dx);
  }
}

void SelfAttention::forward(const StepContext& step, Tensor x, const Residual& all_residual,
                            Tensor selected, Tensor y, const LayerScratch& scratch) {
  const int64_t rows = y.rows();
  const Tensor sum = sum_.first(rows);
  const Residual residual = select(all_residual, selected, scratch);
  Tensor context = attended_.first(selected_ ? rows : x.rows());
  if (selected_) {
    // Post-normalized, the residual is x itself.
    const Tensor room = scratch.second_wide_as(rows, x.columns(), x.dtype);
    selected_->forward(step, probability_dropout(step, selected), x, selected,
                       config_.normalizes_first ? select(x, selected, room) : residual.rows.x,
                       context);
  } else {
    attend(step, x, context, scratch);
    context = select(context, selected, scratch.hidden_as(rows, context.columns(), operands_));
  }
  // The rest of the layer's half is computed for the R rows that are selected.
  output_linear_.forward(kernels_, context, sum);
  if (output_adapter_) {
    output_adapter_->forward(step, adapter_dropout(LayerPart::kAttentionOutput, selected), context,
                             sum);
  }
  const Dropout dropout = output_dropout(step, selected);
  ResidualSum{kernels_, step, norm_, dropout, config_.normalizes_first}.forward(sum, residual, y);
}

Tensor SelfAttention::select(Tensor x, Tensor selected, Tensor room) {
  if (!selected) return x;
  kernels_.gather_rows(x, selected, room);
  return room;
}

Residual SelfAttention::select(const Residual& residual, Tensor selected,
                               const LayerScratch& scratch) {
  if (!selected) return residual;
  const Tensor rows = scratch.second_hidden_as(selected.rows(), config_.hidden_size, DType::kF32);
  kernels_.gather_residual(residual, selected, rows);
  return rows;
}

void SelfAttention::recompute_output(Tensor y) {
  kernels_.layer_norm_recompute(norm_.normalized(sum_.first(y.rows())), norm_.parameters(), y);
}

void SelfAttention::backward(const StepContext& step, Tensor x, Tensor selected,
                             const SpreadGradient& d, const SpreadGradient& dresidual,
                             const LayerScratch& scratch) {
  const Tensor dy = d.selected;
  const int64_t tokens = x.rows(), rows = dy.rows();
  const Tensor attended = attended_.first(selected_ ? rows : tokens);
  const Tensor dprojected = scratch.hidden_as(rows, dy.columns(), operands_);
  const Dropout dropout = output_dropout(step, selected);
  // 1. dprojected [R,H]: through the norm and the residual.
  const Into into = ResidualSum{kernels_, step, norm_, dropout, config_.normalizes_first}.backward(
      dy, sum_.first(rows), dresidual.selected, dprojected);
  // 2. dattended [R,H]: through the output's product.
  const Tensor context =
      selected_ ? attended
                : select(attended, selected, scratch.wide_as(rows, attended.columns(), operands_));
  Tensor dattended = scratch.second_hidden_as(rows, dy.columns(), operands_);
  output_linear_.backward(kernels_, dprojected, context, dattended, Into::kOverwrite);
  if (output_adapter_) {
    output_adapter_->backward(step, adapter_dropout(LayerPart::kAttentionOutput, selected), context,
                              dprojected, dattended);
  }
  const bool is_apart = config_.normalizes_first;
  if (selected && is_apart) kernels_.scatter_rows(dresidual.selected, selected, dresidual.all);
  // 3. Through attention. Its queries were the selected rows only, or all rows: then the gradients
  // of the others are zeros.
  if (selected_) {
    selected_->backward(step, probability_dropout(step, selected), dattended, x, selected, attended,
                        dy, into, d.all, scratch);
    return;
  }
  if (selected) {
    const Tensor dcontext = dattended;
    // dprojected is no longer needed.
    dattended = scratch.hidden_as(tokens, dcontext.columns(), operands_);
    kernels_.scatter_rows(dcontext, selected, dattended);
    if (!is_apart) kernels_.scatter_rows(dy, selected, d.all);
  }
  attend_backward(step, x, attended, dattended, d.all, into, scratch);
}

}  // namespace berth
