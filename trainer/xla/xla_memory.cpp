#include "trainer/xla/xla_memory.h"

#include <algorithm>

#include "storage/base/counted.h"
#include "storage/base/text.h"
#include "trainer/xla/layout/shapes.h"

namespace berth {
namespace {

// What a batch of this shape keeps, in fp32 numbers.
int64_t kept_numbers(const ModelConfig& config, const BatchShape& shape, bool trains,
                     bool recomputes) {
  const int64_t tokens = shape.tokens(), hidden = config.hidden_size;
  // The activations of one layer: inputs of its products and normalizations, and three forms of the
  // scores.
  const int64_t layer =
      tokens * (10 * hidden + (config.is_gated ? 5 : 3) * config.intermediate_size) +
      3 * tokens * config.num_attention_heads * shape.row_length;
  const bool is_masked = traits(config.task).rows == HeadRows::kMasked;
  const bool is_of_tokens = traits(config.task).rows == HeadRows::kTokens;
  const int64_t head = is_masked      ? 3 * shape.masked * config.vocab_size
                       : is_of_tokens ? 3 * tokens * config.num_outputs()
                                      : 0;
  if (!trains) return layer + head;
  return recomputes ? config.num_hidden_layers * tokens * hidden + layer + head
                    : config.num_hidden_layers * layer + head;
}

// The host's memory that the plugin's compiler takes while it compiles the programs of an engine,
// and does not free. Measured with the plugin for CPUs 0.115, fp32 and bf16: 260 to 320 MiB for
// training 2 layers, 360 to 410 MiB for 6 layers and 500 MiB for 12. Inference takes less than 50
// MiB.
size_t compiler_bytes(const EngineOptions& options) {
  constexpr size_t kMiB = size_t{1} << 20;
  const auto layers = static_cast<size_t>(options.config.num_hidden_layers);
  return (options.trains ? 300 + 35 * layers : 50 + 5 * layers) * kMiB;
}

}  // namespace

EngineMemory xla_memory(const EngineOptions& options, size_t replicas, bool on_host) {
  const std::vector<ParameterSpec> specs =
      parameter_table(options.config, options.lora, options.optimizer.first_depth);
  const auto all = static_cast<size_t>(total_elements(specs)) * sizeof(float);
  const auto trained =
      options.trains ? static_cast<size_t>(trained_elements(specs)) * sizeof(float) : 0;
  // Not the largest shape, which only very short texts need.
  const auto count = static_cast<int64_t>(replicas);
  const BatchShape usual{.rows = full_rows(options.limits, options.longest, count) * 9 / 8 + 1,
                         .row_length = row_length_for(options.limits, options.longest, count),
                         .sequences = options.limits.sequences,
                         .masked = options.limits.most_masked() / count};
  const auto kept = static_cast<size_t>(
      kept_numbers(options.config, usual, options.trains, options.limits.recomputes));
  const bool accumulates = options.micro_batches > 1;
  const size_t copies = on_host ? replicas : 1;
  return {.parameters = copies * all,
          .gradients = accumulates ? copies * trained : 0,
          .moments = copies * 2 * trained,
          .activations = copies * (kept * sizeof(float) + trained),
          .loading = all + 2 * trained,
          .plugin = compiler_bytes(options),
          .has_own_memory = !on_host};
}

Error with_batch_that_fits(const Error& error, const EngineOptions& options,
                           const XlaReplicas& replicas,
                           const std::optional<XlaPrograms::BatchMemory>& compiled) {
  if (error.code() != Code::kMemory) return error;
  const std::optional<DeviceMemory> device = replicas.memory();
  if (!device || !device->limit) return error;
  const EngineMemory memory = xla_memory(options, replicas.total(), /*on_host=*/false);
  const size_t state = memory.parameters + memory.gradients + memory.moments;
  auto for_batch = static_cast<double>(memory.activations);
  auto tokens = static_cast<double>(options.limits.tokens);
  if (compiled) {
    for_batch = static_cast<double>(compiled->size_bytes);
    tokens = static_cast<double>(compiled->tokens) * static_cast<double>(replicas.total());
  }
  // The gradients of a single micro-batch do not grow with it.
  const double fixed =
      memory.gradients > 0 ? 0 : std::min(static_cast<double>(memory.moments) / 2, for_batch / 2);
  const double room = static_cast<double>(*device->limit) - static_cast<double>(state) - fixed;
  auto fitting = static_cast<int64_t>(tokens * room / std::max(for_batch - fixed, 1.0));
  // Something else is in the device's memory if that much did not fit.
  fitting = std::min(fitting, options.limits.tokens / 2);
  const int64_t longest = options.longest;
  if (fitting < longest) {
    return Error(
        error.code(), error.problem(), error.where(),
        cat("beside the model and its optimizer, this device has no memory for a sequence of ",
            longest, " tokens; use a smaller model or shorter sequences"));
  }
  return Error(
      error.code(), error.problem(), error.where(),
      cat("a micro-batch of about ", fitting, " tokens would fit, such as ",
          counted(fitting / longest, "example"), " of ", longest, "; make the batch smaller",
          options.limits.recomputes ? "" : " or use gradient checkpointing"));
}

}  // namespace berth
