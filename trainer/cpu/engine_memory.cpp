#include "trainer/cpu/engine_memory.h"

#include <algorithm>

#include "trainer/cpu/cpu_engine.h"
#include "trainer/cpu/network/linear.h"

namespace berth {
namespace {

size_t fp32_bytes(int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); }

// The packed copies of the matrices that products take: all but vectors and the embeddings' tables.
// DeBERTa's queries and keys are packed a second time, for its positions.
size_t packed_bytes(const EngineOptions& options, const Parameters& parameters,
                    const Kernels& kernels) {
  size_t size_bytes = 0;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    if (spec.shape.size() < 2 || spec.depth == 0) continue;
    const WeightUse use = weight_use(options.trains, parameters.gradient_form(i));
    const bool twice =
        options.config.type == ModelType::kDebertaV2 &&
        (spec.name.ends_with(".query_proj.weight") || spec.name.ends_with(".key_proj.weight"));
    size_bytes += (twice ? 2 : 1) * kernels.packed_bytes(spec.shape[0], spec.columns(), use);
  }
  return size_bytes;
}

AttentionExtent attention_extent(const EngineOptions& options) {
  const ModelConfig& config = options.config;
  return {.longest = options.longest,
          .heads = config.num_attention_heads,
          .head_size = config.head_size(),
          .positions = 2 * config.relative_span()};
}

// The scratch of factored gradients, whose widest may be queries', keys' and values' together.
size_t factored_bytes(const EngineOptions& options, const Parameters& parameters,
                      const Kernels& kernels) {
  int64_t widest = 0;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    if (parameters.gradient_form(i) != GradientForm::kFactored) continue;
    widest = std::max(widest, spec.shape[0] + spec.columns());
  }
  if (widest == 0) return 0;
  return kernels.factored_scratch_bytes(one_batch_tokens(options),
                                        std::max(widest, 4 * options.config.hidden_size));
}

}  // namespace

EngineMemory engine_memory(const EngineOptions& options, Kernels& kernels) {
  Parameters parameters(parameter_table(options.config, options.lora), one_batch_tokens(options),
                        kernels.kept_dtype());
  const size_t activations =
      Model::planned_bytes(options.config, options.limits, parameters, kernels, options.lora);
  int64_t summed = 0, learning = 0;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    if (spec.trains && parameters.gradient_form(i) == GradientForm::kSummed) {
      summed += spec.elements();
    }
    if (learns(spec, options.optimizer)) learning += spec.elements();
  }
  return {.parameters = fp32_bytes(parameters.size()),
          .gradients = options.trains ? fp32_bytes(summed) : 0,
          .moments = options.trains ? 2 * fp32_bytes(learning) : 0,
          .activations = activations,
          .scratch = kernels.scratch_bytes(attention_extent(options)) +
                     packed_bytes(options, parameters, kernels) +
                     factored_bytes(options, parameters, kernels)};
}

}  // namespace berth
