#include "entrypoint/memory/memory_budget.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/masking.h"

namespace berth {
namespace {

std::string advice(const BatchSizes& shape, int64_t fitting) {
  if (fitting == 0 && shape.fits_alone) {
    return "--batch-size 1 with --eval-batch-size 1 would fit";
  }
  if (fitting == 0) {
    return cat("not even one example at a time fits: use ", shape.smaller_outputs,
               shape.smaller_outputs.empty() ? "" : ", ", shape.recomputes ? "" : "--recompute, ",
               "a smaller model, a shorter --max-seq-length or more memory");
  }
  const bool in_tokens = shape.tokens_an_example > 0;
  const int64_t examples =
      in_tokens ? std::max<int64_t>(1, fitting / shape.tokens_an_example) : fitting;
  const std::string evaluation = cat("--eval-batch-size ", examples);
  if (shape.micro_batch() <= fitting) return evaluation + " would fit";
  const std::string also = shape.evaluated > fitting ? " with " + evaluation : "";
  if (in_tokens) return cat("--token-budget ", fitting, also, " would fit");
  if (shape.compares_rows) {
    return cat("--batch-size ", fitting, also, " would fit",
               shape.compares_all_at_once ? "; so would the same updates with "
                                            "--embedding-mini-batch-size auto"
                                          : "");
  }
  const std::string parts =
      cat("--gradient-accumulation-steps ", (shape.batch_size + fitting - 1) / fitting);
  if (shape.micro_batches > 1) return cat(parts, also, " would fit");
  return cat("--batch-size ", fitting, also, " would fit; so would the same updates with ", parts);
}

std::string excess_text(const BatchSizes& shape, const MemoryEstimate& memory,
                        const MemoryLimits& limits) {
  const bool on_device = !limits.device_allows(memory);
  const MemoryLimit& limit = on_device ? *limits.device : *limits.host;
  std::string text =
      cat("the job needs up to ", human_bytes(on_device ? memory.on_device() : memory.on_host()),
          on_device ? " of the device's memory" : " of memory");
  if (on_device || !memory.engine.has_own_memory) {
    text += cat(", ", human_bytes(memory.engine.activations), " of it for ",
                counted(shape.at_once(), shape.tokens_an_example > 0 ? "token" : "example"),
                " at once,");
  }
  if (!on_device && memory.teacher > 0) {
    text += cat(text.ends_with(',') ? " " : ", ", human_bytes(memory.teacher),
                " of it for the teacher's outputs,");
  }
  return cat(text, " and ", limit.what, " is ", human_bytes(limit.size_bytes));
}

}  // namespace

MemoryLimits memory_limits(const Device& device) {
  MemoryLimits limits{.host = memory_limit()};
  const std::optional<DeviceMemory> memory = device.memory();
  if (memory && memory->limit) limits.device = MemoryLimit{*memory->limit, "the device's limit"};
  return limits;
}

int64_t largest_fitting_batch(int64_t most, const MemoryLimits& limits,
                              const std::function<MemoryEstimate(int64_t)>& memory_of) {
  int64_t fits = 0, beyond = most + 1;
  while (beyond - fits > 1) {
    const int64_t middle = fits + (beyond - fits) / 2;
    (limits.allow(memory_of(middle)) ? fits : beyond) = middle;
  }
  return fits;
}

void require_memory(const BatchSizes& shape, const MemoryEstimate& memory,
                    const MemoryLimits& limits,
                    const std::function<MemoryEstimate(int64_t)>& memory_of) {
  if (limits.allow(memory)) return;
  const int64_t fitting = largest_fitting_batch(shape.at_once(), limits, memory_of);
  throw Error(Code::kMemory, excess_text(shape, memory, limits), "", advice(shape, fitting));
}

namespace {

MemoryParts engine_parts(const EngineMemory& engine) {
  return {{"parameters", engine.parameters},
          {"gradients", engine.gradients},
          {"moments", engine.moments},
          {"activations", engine.activations},
          {"scratch", engine.scratch}};
}

std::string total_text(size_t size_bytes, const std::optional<MemoryLimit>& limit,
                       const MemoryParts& parts) {
  std::string text = human_bytes(size_bytes);
  if (limit) text += cat(" of ", limit->what, ", ", human_bytes(limit->size_bytes));
  const char* separator = " (";
  for (const auto& [name, part_bytes] : parts) {
    text += cat(separator, name, " ", human_bytes(part_bytes));
    separator = ", ";
  }
  return text + ")";
}

}  // namespace

MemoryParts host_parts(const MemoryEstimate& memory) {
  MemoryParts parts = {{"program", memory.program}, {"tables", memory.tables}};
  if (memory.teacher > 0) parts.emplace_back("teacher", memory.teacher);
  if (!memory.engine.has_own_memory) {
    for (const auto& part : engine_parts(memory.engine)) parts.push_back(part);
  }
  if (memory.engine.plugin > 0) parts.emplace_back("plugin", memory.engine.plugin);
  parts.emplace_back("saving", memory.saving);
  if (memory.probe > 0) parts.emplace_back("probe", memory.probe);
  if (memory.reading > 0) parts.emplace_back("reading", memory.reading);
  return parts;
}

MemoryParts device_parts(const MemoryEstimate& memory) {
  return memory.engine.has_own_memory ? engine_parts(memory.engine) : MemoryParts();
}

std::string memory_text(const MemoryEstimate& memory, const MemoryLimits& limits) {
  std::string text = "at most " + total_text(memory.on_host(), limits.host, host_parts(memory));
  if (!memory.engine.has_own_memory) return text;
  return cat(text, "; on each device at most ",
             total_text(memory.on_device(), limits.device, device_parts(memory)));
}

namespace {

// The limits of updates that are cut by tokens: into the shares of ranks, and these into
// micro-batches if there is a token budget or if there are ranks. A single example may have more
// tokens than the budget. An example belongs to one part as a whole, so a part may have more than
// an equal share.
BatchLimits limits_of_tokens(const Settings& settings, int64_t most_examples, int64_t texts) {
  const TrainingOptions& options = settings.training;
  const int64_t longest = settings.data.max_seq_length * texts;
  const int64_t update = update_tokens(settings, texts);
  int64_t tokens = update;
  for (const int64_t parts : {options.place.size, options.gradient_accumulation_steps}) {
    if (parts > 1) tokens = std::min(tokens, (tokens + parts - 1) / parts + longest);
  }
  if (most_examples <= tokens / longest) tokens = most_examples * longest;
  const int64_t evaluated = std::min(options.examples_per_evaluation_batch(), most_examples);
  return {.tokens = std::max(tokens, evaluated * longest),
          .sequences =
              texts * std::max(evaluated, std::min({options.batch_size, tokens, most_examples})),
          .recomputes = options.recompute};
}

}  // namespace

BatchLimits batch_limits(const Settings& settings, bool training, int64_t most_examples,
                         int64_t texts) {
  const TrainingOptions& options = settings.training;
  if (training && (options.token_budget > 0 || options.place.size > 1)) {
    return limits_of_tokens(settings, most_examples, texts);
  }
  int64_t sequences = options.examples_per_evaluation_batch();
  if (training) sequences = std::max(sequences, options.examples_per_micro_batch());
  sequences = std::min(sequences, most_examples) * texts;
  return {
      .tokens = sequences * settings.data.max_seq_length,
      .sequences = sequences,
      .recomputes = options.recompute || !training};  // inference keeps no activations for backward
}

int64_t update_tokens(const Settings& settings, int64_t texts) {
  const int64_t longest = settings.data.max_seq_length * texts,
                budget = settings.training.token_budget;
  return budget > 0 ? std::max(budget, longest) : settings.training.batch_size * longest;
}

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

// Whether the rows of a batch have a loss only together.
bool compares_rows(const ModelConfig& config) {
  const TaskTraits& task = traits(config.task);
  if (task.rows != HeadRows::kGroups) return false;
  return task.loss == LossKind::kInBatchNegatives ||
         compares_rows(config.similarity.loss.value_or(SimilarityLoss::kCosine));
}

// The limits of batches, and of the masked tokens in them.
BatchLimits limits_for(const Settings& settings, const ModelConfig& config, bool training,
                       int64_t most_examples) {
  BatchLimits limits = batch_limits(settings, training, most_examples, config.texts_per_row);
  if (traits(config.task).labels == LabelKind::kMaskedId) {
    limits.masked = std::max(
        Masking::most_masked(settings.data.mlm_probability, limits.tokens, limits.sequences),
        std::min(limits.tokens, limits.sequences * settings.data.most_masked));
    limits.sequences =
        std::min(limits.sequences * settings.data.sequences_per_block, limits.tokens);
  }
  const TrainingOptions& options = settings.training;
  if (training && options.place.size > 1 && compares_rows(config)) {
    const int64_t rows =
        options.token_budget > 0 ? options.batch_size : options.examples_per_shared_micro_batch();
    limits.compared_sequences = std::min(rows, most_examples) * config.texts_per_row;
  }
  const int64_t rows = options.embedding_mini_batch_size.value_or(0);
  const int64_t part = rows * config.texts_per_row;
  if (traits(config.task).rows == HeadRows::kGroups && part > 0 && part < limits.sequences) {
    limits.part_sequences = part;
    limits.part_tokens = part * settings.data.max_seq_length;
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
                   .focal_gamma = optimization.focal_gamma,
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
