#include "trainer/loop/memory_estimate.h"

#include <algorithm>

#include "trainer/cpu/network/linear.h"
#include "trainer/cpu/network/model.h"
#include "trainer/weights/placed_tensors.h"

namespace berth {
namespace {

size_t fp32_bytes(int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); }

int64_t largest_elements(const Parameters& parameters) {
  int64_t largest = 0;
  for (const ParameterSpec& spec : parameters.specs()) {
    largest = std::max(largest, spec.elements());
  }
  return largest;
}

// As Snapshot takes it: all values, and two moments of what stands behind the first that trains; or
// one tensor after the other.
size_t copy_bytes(const MemoryPlan& plan, const Parameters& parameters) {
  if (plan.saves == Saving::kWhileTrainingWaits) {
    return placed_copy_bytes(largest_elements(parameters), DType::kF32);
  }
  const size_t first = first_trained(parameters);
  if (first == parameters.specs().size()) return fp32_bytes(parameters.size());
  return fp32_bytes(parameters.size() + 2 * (parameters.size() - parameters.offset(first)));
}

// As export_model() takes it; export_tensorflow(): a copy, and one transposed. Adapters are merged
// into a model of its own before.
size_t export_bytes(const MemoryPlan& plan) {
  const Parameters parameters(parameter_table(plan.config));
  const size_t whole = fp32_bytes(parameters.size());
  const size_t copies = placed_copy_bytes(largest_elements(parameters), plan.export_dtype);
  return std::max(copies, plan.exports_tensorflow ? 2 * whole : 0) + (plan.lora ? whole : 0);
}

// Of the factors of products, which are all but vectors and the embeddings' tables. DeBERTa's
// queries and keys are packed once more, for its positions.
size_t packed_bytes(const MemoryPlan& plan, const Parameters& parameters, const Kernels& kernels) {
  size_t size_bytes = 0;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    if (spec.shape.size() < 2 || spec.depth == 0) continue;
    const WeightUse use = weight_use(plan.trains, parameters.gradient_form(i));
    const bool twice =
        plan.config.type == ModelType::kDebertaV2 &&
        (spec.name.ends_with(".query_proj.weight") || spec.name.ends_with(".key_proj.weight"));
    size_bytes +=
        (twice ? 2 : 1) * kernels.packed_bytes(spec.shape[0], spec.elements() / spec.shape[0], use);
  }
  return size_bytes;
}

AttentionExtent attention_extent(const MemoryPlan& plan) {
  const ModelConfig& config = plan.config;
  return {.longest = plan.longest,
          .heads = config.num_attention_heads,
          .head_size = config.hidden_size / config.num_attention_heads,
          .positions = config.type == ModelType::kDebertaV2 ? 2 * config.relative_span() : 0};
}

// Of factored gradients, whose widest may be queries', keys' and values' together.
size_t factored_bytes(const MemoryPlan& plan, const Parameters& parameters,
                      const Kernels& kernels) {
  int64_t widest = 0;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const std::vector<int64_t>& shape = parameters.specs()[i].shape;
    if (parameters.gradient_form(i) != GradientForm::kFactored) continue;
    widest = std::max(widest, shape[0] + shape[1]);
  }
  if (widest == 0) return 0;
  return kernels.factored_scratch_bytes(plan.update_tokens,
                                        std::max(widest, 4 * plan.config.hidden_size));
}

}  // namespace

MemoryEstimate estimate_memory(const MemoryPlan& plan, Kernels& kernels) {
  Parameters parameters(parameter_table(plan.config, plan.lora),
                        plan.trains ? plan.update_tokens : 0, kernels.kept_dtype());
  const size_t activations =
      Model::planned_bytes(plan.config, plan.limits, parameters, kernels, plan.lora);
  int64_t summed = 0, learning = 0;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    if (spec.trains && parameters.gradient_form(i) == GradientForm::kSummed) {
      summed += spec.elements();
    }
    if (learns(spec, plan.optimizer)) learning += spec.elements();
  }
  return {.parameters = fp32_bytes(parameters.size()),
          .gradients = plan.trains ? fp32_bytes(summed) : 0,
          .moments = plan.trains ? 2 * fp32_bytes(learning) : 0,
          .activations = activations,
          .scratch = kernels.scratch_bytes(attention_extent(plan)) +
                     packed_bytes(plan, parameters, kernels) +
                     factored_bytes(plan, parameters, kernels),
          .saving = plan.trains ? std::max(copy_bytes(plan, parameters), export_bytes(plan)) : 0,
          .saves = plan.saves};
}

}  // namespace berth
