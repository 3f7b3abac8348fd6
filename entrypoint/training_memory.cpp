#include "entrypoint/training_memory.h"

#include <algorithm>

#include "entrypoint/job.h"
#include "entrypoint/memory_budget.h"

namespace berth {
namespace {

size_t table_bytes(const TrainingRows& rows) {
  size_t size_bytes = rows.train.table->memory_bytes();
  if (rows.eval) size_bytes += rows.eval->table->memory_bytes();
  if (rows.mismatched) size_bytes += rows.mismatched->table->memory_bytes();
  return size_bytes;
}

// Updates of so many tokens at once, and evaluations of no more.
void set_budget(Settings& settings, int64_t tokens) {
  TrainingOptions& training = settings.training;
  training.token_budget = tokens;
  training.batch_size = std::min(training.batch_size, tokens);
  training.gradient_accumulation_steps = 1;
  const int64_t evaluated = std::max<int64_t>(1, tokens / settings.data.max_seq_length);
  training.eval_batch_size = std::min(training.eval_batch_size, evaluated);
}

}  // namespace

size_t program_bytes(const TrainingRows& rows) {
  const size_t all = resident_bytes();
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
                               const OptimizerOptions& optimizer, const DataMemory& data,
                               Kernels& kernels) {
  MemoryEstimate memory =
      estimate_memory({.config = config,
                       .lora = settings.training.optimization.lora,
                       .optimizer = optimizer,
                       .limits = batch_limits(settings, /*training=*/true, data.most_examples),
                       .longest = settings.data.max_seq_length,
                       .export_dtype = settings.output.export_dtype.value_or(DType::kF32)},
                      kernels);
  memory.program = data.program;
  memory.tables = data.tables;
  return memory;
}

void require_training_memory(const Settings& settings, const ModelConfig& config,
                             const OptimizerOptions& optimizer, const DataMemory& data,
                             const std::optional<MemoryLimit>& limit, Kernels& kernels) {
  const TrainingOptions& training = settings.training;
  if (training.token_budget > 0) {
    const BatchLimits limits = batch_limits(settings, /*training=*/true, data.most_examples);
    return require_memory({.batch_size = limits.tokens, .in_tokens = true}, limit,
                          [&](int64_t tokens) {
                            Settings smaller = settings;
                            set_budget(smaller, tokens);
                            return training_memory(smaller, config, optimizer, data, kernels);
                          });
  }
  const BatchShape shape{.batch_size = std::min(training.batch_size, data.most_examples),
                         .micro_batches = training.gradient_accumulation_steps,
                         .evaluated = std::min(training.eval_batch_size, data.most_examples)};
  require_memory(shape, limit, [&](int64_t at_once) {
    Settings smaller = settings;
    smaller.training.batch_size = at_once;
    smaller.training.gradient_accumulation_steps = 1;
    smaller.training.eval_batch_size = std::min(training.eval_batch_size, at_once);
    return training_memory(smaller, config, optimizer, data, kernels);
  });
}

}  // namespace berth
