#include "trainer/cpu/engine_memory.h"

#include <algorithm>

#include "trainer/cpu/cpu_engine.h"
#include "trainer/cpu/network/model.h"

namespace berth {
namespace {

AttentionExtent attention_extent(const EngineOptions& options) {
  const ModelConfig& config = options.config;
  return {.longest = options.longest,
          .heads = config.num_attention_heads,
          .head_size = config.head_size(),
          .positions = 2 * config.relative_span()};
}

// The scratch of factored gradients: the widest matrix takes most.
size_t factored_bytes(const EngineOptions& options, Parameters& parameters,
                      const Kernels& kernels) {
  int64_t widest = 0;
  for (const Parameter& parameter : parameters.handles()) {
    if (parameter.form() != GradientForm::kFactored) continue;
    widest = std::max(widest, parameter.value().rows() + parameter.value().columns());
  }
  return widest == 0 ? 0 : kernels.factored_scratch_bytes(one_batch_tokens(options), widest);
}

}  // namespace

EngineMemory engine_memory(const EngineOptions& options, Kernels& kernels) {
  Parameters parameters =
      Parameters::plan(parameter_table(options.config, options.lora, options.optimizer.first_depth),
                       options.trains, kernels, one_batch_tokens(options));
  const size_t activations =
      Model::planned_bytes(options.config, options.limits, parameters, kernels, options.lora);
  const ParameterBytes bytes = parameters.bytes();  // with the factors that the network asked for
  return {.parameters = bytes.values,
          .gradients = bytes.gradients,
          .moments = bytes.moments,
          .activations = activations,
          .scratch = kernels.scratch_bytes(attention_extent(options)) + bytes.packed +
                     factored_bytes(options, parameters, kernels)};
}

}  // namespace berth
