#include "trainer/cpu/network/layer_parts.h"

#include <algorithm>

#include "trainer/model/part_names.h"

namespace berth {

Linear::Linear(Parameters& parameters, const std::string& name, int count)
    : weight(parameters.factor(name + ".weight", count)),
      bias(parameters.has(name + ".bias") ? &parameters.parameter(name + ".bias", count)
                                          : nullptr) {}

void Linear::backward(Kernels& kernels, ConstTensor dy, ConstTensor x, Tensor dx, Into into,
                      const Preactivation& pre) const {
  kernels.linear_backward(dy, x, weight.weight(), dx, into, gradients(), pre);
  weight.take_product(kernels, dy, x);
}

void Linear::activation_backward(Kernels& kernels, Tensor dy, const Preactivation& pre,
                                 ConstTensor x, Tensor dx, Into into) const {
  kernels.activation_backward(pre.values, pre.activation, dy);
  backward(kernels, dy, x, dx, into);
}

LinearGradients Linear::gradients() const {
  return {weight.gradient().as_matrix(), bias != nullptr ? bias->gradient() : Tensor(),
          weight.form() == GradientForm::kWhole ? Into::kOverwrite : Into::kAdd};
}

DType operand_dtype(const ModelConfig& config, const LoraOptions& lora, const Kernels& kernels) {
  const bool is_narrow = std::min(config.hidden_size, config.intermediate_size) < kLeastOutputs;
  return lora || is_narrow ? DType::kF32 : kernels.product_dtype();
}

LowRankAdapter::LowRankAdapter(const LoraOptions& lora, const std::string& target, int64_t column,
                               Parameters& parameters, Kernels& kernels)
    : lora_(lora),
      column_(column),
      kernels_(kernels),
      a_(parameters.parameter(lora_a_name(target))),
      b_(parameters.parameter(lora_b_name(target))) {}

void LowRankAdapter::allocate(Arena& arena, int64_t rows) {
  make_all(arena, {&down_, &ddown_}, {rows, lora_.rank});
  if (lora_.dropout > 0) dropped_ = arena.make(DType::kF32, {rows, a_.value().columns()});
}

LowRankFactors LowRankAdapter::values() const {
  return {.a = a_.value(), .b = b_.value(), .scale = lora_.scale(), .column = column_};
}

Dropout LowRankAdapter::placed(const StepContext& step, Dropout dropout) const {
  dropout.p = step.training ? static_cast<float>(lora_.dropout) : 0;
  return dropout;
}

void LowRankAdapter::forward(const StepContext& step, Dropout dropout, Tensor x, Tensor y) {
  const Dropout drop = placed(step, dropout);
  if (drop.p > 0) {
    const Tensor dropped = dropped_.first(x.rows());
    kernels_.dropout(x, drop, step.state, dropped);
    x = dropped;
  }
  kernels_.low_rank_forward(x, values(), down_.first(x.rows()), y);
}

void LowRankAdapter::backward(const StepContext& step, Dropout dropout, Tensor x, Tensor dy,
                              Tensor dx) {
  const Dropout drop = placed(step, dropout);
  const Tensor down = down_.first(x.rows());
  LowRankGradients gradients{.ddown = ddown_.first(x.rows()),
                             .dx = dx,
                             .into_dx = Into::kAdd,
                             .da = a_.gradient(),
                             .db = b_.gradient()};
  if (drop.p == 0) {
    kernels_.low_rank_backward(dy, x, down, values(), gradients);
    return;
  }
  const Tensor dropped = dropped_.first(x.rows());  // is overwritten with its gradient
  gradients.dx = dropped;
  gradients.into_dx = Into::kOverwrite;
  kernels_.low_rank_backward(dy, dropped, down, values(), gradients);
  kernels_.dropout(dropped, drop, step.state, dropped);
  kernels_.add(dropped, dx);
}

std::optional<LowRankAdapter> make_adapter(const ModelConfig& config, const LoraOptions& lora,
                                           int64_t layer, LayerPart part, Parameters& parameters,
                                           Kernels& kernels) {
  if (!lora) return std::nullopt;
  int64_t column = 0;
  if (part <= LayerPart::kValue) column = static_cast<int64_t>(part) * config.hidden_size;
  const bool follows_gate = !layer_names(config, layer).gate.empty();
  if (part == LayerPart::kIntermediate && follows_gate) column = config.intermediate_size;
  for (const LoraTarget& target : lora_targets(config, lora, layer)) {
    if (target.part != part) continue;
    return LowRankAdapter(lora, target.name, column, parameters, kernels);
  }
  return std::nullopt;
}

LayerNorm::LayerNorm(Parameters& parameters, const std::string& name, double epsilon)
    : gamma_(parameters.parameter(name + ".weight")),
      beta_(parameters.has(name + ".bias") ? &parameters.parameter(name + ".bias") : nullptr),
      epsilon_(static_cast<float>(epsilon)) {}

void LayerNorm::allocate(Arena& arena, int64_t most_rows) {
  make_all(arena, {&statistics_.mean, &statistics_.rstd}, {most_rows});
}

void ResidualSum::forward(Tensor sum, const Residual& residual, Tensor y) const {
  kernels.add_layer_norm_forward(sum, residual, dropout, step.state, norm.parameters(),
                                 {.sum = sum, .y = y, .statistics = norm.statistics(sum.rows())});
}

Into ResidualSum::backward(Tensor dy, Tensor sum, Tensor dresidual, Tensor doutput) const {
  if (!normalizes_first) {
    kernels.add_layer_norm_backward(
        dy, norm.normalized(sum), dropout, step.state, norm.parameters(),
        {.dx = doutput, .dresidual = dy, .parameters = norm.gradients()});
    return Into::kAdd;
  }
  kernels.layer_norm_backward(dy, norm.normalized(sum), norm.parameters(), dy, norm.gradients());
  kernels.add(dy, dresidual);
  kernels.dropout(dresidual, dropout, step.state, doutput);
  return Into::kOverwrite;
}

}  // namespace berth
