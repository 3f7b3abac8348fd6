#include "trainer/cpu/engine_memory.h"

#include <algorithm>
#include <vector>

#include "trainer/cpu/cpu_engine.h"
#include "trainer/cpu/network/network.h"
#include "trainer/cpu/network/rotary_positions.h"
#include "trainer/model/generator_config.h"

namespace berth {
namespace {

FactoredExtent factored_extent(const GradientRule& rule, Parameters& parameters) {
  FactoredExtent extent;
  for (const Parameter& parameter : parameters.handles()) {
    if (parameter.form() != GradientForm::kFactored) continue;
    const int64_t size = parameter.value().rows() + parameter.value().columns();
    extent = {.tokens = rule.update_tokens,
              .rows_and_columns = std::max(extent.rows_and_columns, size)};
  }
  return extent;
}

int64_t deepest(Parameters& parameters) {
  int64_t most = 0;
  for (const Parameter& parameter : parameters.handles()) {
    if (parameter.value().rank > 1) most = std::max(most, parameter.value().columns());
  }
  return most;
}

ScratchExtent scratch_extent(const EngineOptions& options, const GradientRule& rule,
                             Parameters& parameters) {
  const ModelConfig& config = options.config;
  const ModelConfig second = config.generator ? generator_config(config) : config;
  return {.longest = options.longest,
          .heads = std::max(config.num_attention_heads, second.num_attention_heads),
          .head_size = std::max(config.head_size(), second.head_size()),
          .positions = 2 * config.relative_span(),
          .bias_rows = config.position_bias_buckets,
          .deepest = deepest(parameters),
          .factored = factored_extent(rule, parameters)};
}

}  // namespace

EngineMemory engine_memory(const EngineOptions& options, Kernels& kernels) {
  const std::vector<ParameterSpec> specs =
      parameter_table(options.config, options.lora, options.optimizer.first_depth);
  const GradientRule rule = gradient_rule(options, kernels.product_dtype());
  Parameters parameters = Parameters::plan(specs, options.trains, kernels, rule,
                                           moment_elements(shards_of(options, specs), /*rank=*/0));
  const size_t activations =
      planned_network_bytes(options.config, options.limits, parameters, kernels, options.lora);
  // Includes the packed copies and factors of the handles that the network has created.
  const ParameterBytes bytes = parameters.bytes();
  return {.parameters = bytes.values,
          .gradients = bytes.gradients,
          .moments = bytes.moments,
          .activations = activations,
          .scratch = kernels.scratch_bytes(scratch_extent(options, rule, parameters)) +
                     bytes.packed + RotaryPositions::table_bytes(options.config, options.longest)};
}

}  // namespace berth
