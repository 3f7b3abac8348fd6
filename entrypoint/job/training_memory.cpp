#include "entrypoint/job/training_memory.h"

#include <algorithm>

#include "entrypoint/job/model_choice.h"
#include "entrypoint/memory/memory_budget.h"
#include "storage/verified_storage.h"
#include "trainer/data/batcher.h"

namespace berth {
namespace {

size_t table_bytes(const TrainingRows& rows) {
  size_t size_bytes = rows.train.table->memory_bytes();
  if (rows.eval) size_bytes += rows.eval->table->memory_bytes();
  if (rows.mismatched) size_bytes += rows.mismatched->table->memory_bytes();
  return size_bytes;
}

// The vectors of tokens or texts that a teacher made, in fp32, in packed batches: the batches that
// wait for training, the one in training and the one that is being packed. Or a batch of an
// evaluation and its logits.
size_t packed_vectors(const Settings& settings, const ModelConfig& config,
                      const BatchLimits& limits) {
  if (const int64_t size = config.similarity.vector_size; size > 0) {
    const int64_t texts = config.texts_per_row * settings.training.batch_size;
    return (Prefetcher::kDepth + 2) * static_cast<size_t>(texts * size) * sizeof(float);
  }
  if (traits(config.task).labels != LabelKind::kVectorPerToken) return 0;
  const int64_t tokens =
      static_cast<int64_t>(Prefetcher::kDepth + 2) * update_tokens(settings) + 2 * limits.tokens;
  return static_cast<size_t>(tokens * config.num_outputs()) * sizeof(float);
}

// Whether a checkpoint or the model is uploaded.
bool uploads(const OutputOptions& output) {
  const auto is_far = [](const std::string& place) {
    return !place.empty() && !Uri::parse(place).is_local();
  };
  return is_far(output.job_dir) || is_far(output.checkpoint_dir) || is_far(output.export_dir);
}

// How the memory of a teacher's outputs can be made smaller, for messages.
std::string smaller_outputs(const Settings& settings) {
  if (settings.distillation.teacher.empty()) return "";
  const bool is_of_tokens = settings.distillation.target == DistillationTarget::kHiddenStates;
  return is_of_tokens ? "fewer rows (--max-train-samples), --distillation-target embedding"
                      : "fewer rows (--max-train-samples)";
}

// Changes `settings` to updates of `tokens` tokens at once and to evaluations of at most as many.
void set_budget(Settings& settings, int64_t tokens) {
  TrainingOptions& training = settings.training;
  training.token_budget = tokens;
  training.batch_size = std::min(training.batch_size, tokens);
  training.gradient_accumulation_steps = 1;
  const int64_t evaluated = std::max<int64_t>(1, tokens / settings.data.max_seq_length);
  training.eval_batch_size = std::min(training.eval_batch_size, evaluated);
}

}  // namespace

size_t program_bytes() {
  constexpr size_t kThreadsAndConnections = size_t{8} << 20;
  return_freed_memory();  // returns what an earlier seed has freed
  return resident_bytes() + kThreadsAndConnections;
}

size_t program_bytes(const TrainingRows& rows) {
  const size_t all = program_bytes();
  return all - std::min(all, table_bytes(rows));
}

DataMemory data_memory(size_t program, const TrainingRows& rows, Dataset& train,
                       std::optional<Dataset>& eval) {
  DataMemory data{.program = program,
                  .tables = table_bytes(rows) + train.memory_bytes(),
                  .most_examples = train.size()};
  if (eval) {
    data.tables += eval->memory_bytes();
    data.most_examples = std::max(data.most_examples, eval->size());
  }
  if (rows.mismatched) {
    const auto mismatched = static_cast<int64_t>(rows.mismatched->table->rows());
    data.most_examples = std::max(data.most_examples, mismatched);
  }
  return data;
}

MemoryEstimate training_memory(const Settings& settings, const ModelConfig& config,
                               const DataMemory& data, const MemoryLimits& limits, Device& device) {
  const EngineOptions options = training_engine(settings, config, data.most_examples);
  SavingPlan saving{
      .export_dtype = settings.output.export_dtype.value_or(DType::kF32),
      .exports_tensorflow = settings.output.export_format == ExportFormat::kTensorflow,
      .probes = data.probe > 0,
      .saves =
          settings.training.keeps_weights ? Saving::kBesideTraining : Saving::kWhileTrainingWaits};
  if (uploads(settings.output)) {
    saving.upload = TransferOptions().upload_bytes();
    saving.download = TransferOptions().download_bytes();
  }
  const auto estimate = [&] {
    MemoryEstimate memory = estimate_memory(options, saving, device);
    memory.program = data.program;
    memory.tables = data.tables;
    memory.teacher = data.teacher + packed_vectors(settings, config, options.limits);
    memory.probe = data.probe;
    return memory;
  };
  MemoryEstimate memory = estimate();
  if (limits.host_allows(memory)) {
    if (limits.host) {
      memory.most_copied += limits.host->size_bytes - memory.on_host();
    } else {
      memory.most_copied = UINT64_MAX;
    }
    return memory;
  }
  saving.saves = Saving::kWhileTrainingWaits;
  return estimate();
}

void require_training_memory(const Settings& settings, const ModelConfig& config,
                             const DataMemory& data, const MemoryLimits& limits, Device& device) {
  const TrainingOptions& training = settings.training;
  const MemoryEstimate memory = training_memory(settings, config, data, limits, device);
  const auto memory_of = [&](const Settings& smaller) {
    return training_memory(smaller, config, data, limits, device);
  };
  if (training.token_budget > 0) {
    const int64_t longest = settings.data.max_seq_length * config.texts_per_row;
    Settings updates = settings;
    updates.training.eval_batch_size = 1;
    const BatchSizes shape{
        .batch_size =
            batch_limits(updates, /*training=*/true, data.most_examples, config.texts_per_row)
                .tokens,
        .evaluated =
            std::min(training.examples_per_evaluation_batch(), data.most_examples) * longest,
        .tokens_an_example = longest,
        .recomputes = training.recompute,
        .smaller_outputs = smaller_outputs(settings)};
    return require_memory(shape, memory, limits, [&](int64_t tokens) {
      Settings smaller = settings;
      set_budget(smaller, tokens);
      return memory_of(smaller);
    });
  }
  Settings alone = settings;
  alone.training.batch_size = alone.training.eval_batch_size = 1;
  alone.training.gradient_accumulation_steps = 1;
  const BatchSizes shape{
      .batch_size = training.batch_size,
      .micro_batches = training.gradient_accumulation_steps,
      .evaluated = std::min(training.examples_per_evaluation_batch(), data.most_examples),
      .rows = data.most_examples,
      .fits_alone = limits.allow(memory_of(alone)),
      .recomputes = training.recompute,
      .compares_rows = compares_texts(config),
      .compares_all_at_once = training.embedding_mini_batch_size.value_or(1) == 0,
      .smaller_outputs = smaller_outputs(settings)};
  require_memory(shape, memory, limits, [&](int64_t at_once) {
    Settings smaller = settings;
    // A micro-batch needs at least as much memory as an update of the same number of examples.
    if (at_once < shape.micro_batch()) {
      smaller.training.batch_size = 2 * at_once;
      smaller.training.gradient_accumulation_steps = 2;
    }
    smaller.training.eval_batch_size = std::min(training.eval_batch_size, at_once);
    return memory_of(smaller);
  });
}

int64_t fitting_mini_batch(const Settings& settings, const ModelConfig& config,
                           const DataMemory& data, const MemoryLimits& limits, Device& device) {
  Settings smaller = settings;
  std::optional<int64_t>& rows = smaller.training.embedding_mini_batch_size;
  const auto fits = [&](int64_t size) {
    rows = size;
    return limits.allow(training_memory(smaller, config, data, limits, device));
  };
  if (fits(0)) return 0;
  int64_t size = 32;
  while (size > 1 && !fits(size)) size /= 2;
  return size;
}

void require_inference_memory(const Settings& settings, const ModelConfig& config,
                              const DataMemory& data, Device& device) {
  const auto memory_of = [&](int64_t at_once) {
    Settings smaller = settings;
    smaller.training.eval_batch_size = at_once;
    MemoryEstimate memory =
        estimate_memory(inference_engine(smaller, config, data.most_examples), device);
    memory.program = data.program;
    memory.tables = data.tables;
    return memory;
  };
  const int64_t evaluated =
      std::min(settings.training.examples_per_evaluation_batch(), data.most_examples);
  require_memory({.evaluated = evaluated, .recomputes = true}, memory_of(evaluated),
                 memory_limits(device), memory_of);
}

}  // namespace berth
