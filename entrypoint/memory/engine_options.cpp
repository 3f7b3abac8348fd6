#include "entrypoint/memory/engine_options.h"

#include <algorithm>

#include "entrypoint/memory/batch_limits.h"
#include "trainer/data/masking.h"

namespace berth {
namespace {

OptimizerOptions optimizer_options(const OptimizationOptions& options) {
  const int64_t layers = options.freeze_encoder_layers;
  return {.type = options.optimizer,
          .adamw = {.beta1 = static_cast<float>(options.adam_beta1),
                    .beta2 = static_cast<float>(options.adam_beta2),
                    .epsilon = static_cast<float>(options.adam_epsilon)},
          .weight_decay = options.weight_decay,
          .max_grad_norm = options.max_grad_norm,
          .layerwise_decay = options.layerwise_lr_decay,
          .first_depth = options.freeze_embeddings || layers > 0 ? layers + 1 : 0};
}

// The limits of batches, and of the masked tokens in them.
BatchLimits limits_for(const Settings& settings, const ModelConfig& config, bool training,
                       int64_t most_examples) {
  BatchLimits limits = batch_limits(settings, training, most_examples, config.texts_per_row);
  if (traits(config.task).labels == LabelKind::kMaskedId) {
    limits.masked =
        Masking::most_masked(settings.data.mlm_probability, limits.tokens, limits.sequences);
    limits.sequences =
        std::min(limits.sequences * settings.data.sequences_per_block, limits.tokens);
  }
  return limits;
}

}  // namespace

EngineOptions training_engine(const Settings& settings, const ModelConfig& config,
                              int64_t most_examples) {
  const OptimizationOptions& optimization = settings.training.optimization;
  return {.config = config,
          .lora = optimization.lora,
          .optimizer = optimizer_options(optimization),
          .loss = {.label_smoothing = optimization.label_smoothing,
                   .distillation = settings.distillation.loss,
                   .discriminator_weight = settings.electra.discriminator_weight},
          .limits = limits_for(settings, config, /*training=*/true, most_examples),
          .micro_batches = settings.training.gradient_accumulation_steps,
          .update_tokens = update_tokens(settings, config.texts_per_row),
          .longest = settings.data.max_seq_length,
          .ranks = {.size = settings.training.place.size,
                    .reduce_dtype = settings.training.reduce_dtype,
                    .shards_optimizer = settings.training.shard_optimizer}};
}

EngineOptions inference_engine(const Settings& settings, const ModelConfig& config,
                               int64_t most_examples) {
  return {.config = config,
          .trains = false,
          .loss = {.discriminator_weight = settings.electra.discriminator_weight},
          .limits = limits_for(settings, config, /*training=*/false, most_examples),
          .longest = settings.data.max_seq_length};
}

}  // namespace berth
