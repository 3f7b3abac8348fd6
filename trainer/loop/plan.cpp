#include "trainer/loop/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace berth {
namespace {

int64_t part_of(double epochs, int64_t steps) {
  return static_cast<int64_t>(std::ceil(epochs * static_cast<double>(steps)));
}

// The plan for updates of equally many examples. The last update of an epoch may have fewer.
Plan plan_by_examples(const TrainingOptions& options, int64_t train_examples) {
  Plan plan;
  const int64_t whole_updates = train_examples / options.batch_size;
  const bool has_remainder = train_examples % options.batch_size > 0;
  plan.steps_per_epoch =
      whole_updates + (has_remainder && !(options.drop_remainder && whole_updates > 0) ? 1 : 0);
  plan.total_steps =
      options.max_steps > 0 ? options.max_steps : part_of(options.epochs, plan.steps_per_epoch);
  return plan;
}

bool keeps_texts_apart(const TrainingOptions& options) {
  return options.sampler == BatchSampler::kNoDuplicates;
}

// The plan for updates with a token budget, or that keep equal texts apart. Every epoch has another
// order and may have another number of updates.
Plan plan_by_counting(const TrainingOptions& options, Dataset& train_data) {
  Batcher batcher(batch_options(options, {}), train_data);
  Plan plan;
  int64_t counted = 0, epochs = 0;
  for (double left = options.epochs; left > 0; left -= 1) {
    const Batcher::EpochCount epoch = batcher.count(epochs);
    if (epochs == 0 && keeps_texts_apart(options)) plan.first_epoch = epoch;
    plan.total_steps += part_of(std::min(left, 1.0), epoch.updates);
    counted += epoch.updates;
    ++epochs;
    // The epochs counted so far give a good average.
    if (options.max_steps > 0 && counted >= options.max_steps) break;
  }
  plan.steps_per_epoch = counted / epochs;
  if (options.max_steps > 0) plan.total_steps = options.max_steps;
  return plan;
}

}  // namespace

BatchOptions batch_options(const TrainingOptions& options, std::vector<SkippedData> skipped) {
  return {.batch_size = options.batch_size,
          .token_budget = options.token_budget,
          .micro_batches = options.gradient_accumulation_steps,
          .rank = options.place.part(),
          .ranks = options.place.parts(),
          .seed = options.seed,
          .drop_remainder = options.drop_remainder,
          .source_mix = options.source_mix,
          .keeps_texts_apart = keeps_texts_apart(options),
          .skipped = std::move(skipped)};
}

Plan make_plan(const TrainingOptions& options, Dataset& train_data) {
  const bool counts =
      options.token_budget > 0 || keeps_texts_apart(options) || !train_data.sources().empty();
  Plan plan =
      counts ? plan_by_counting(options, train_data) : plan_by_examples(options, train_data.size());
  plan.total_steps = std::max<int64_t>(plan.total_steps, 1);
  plan.epochs = counts && options.max_steps == 0 ? options.epochs
                                                 : static_cast<double>(plan.total_steps) /
                                                       static_cast<double>(plan.steps_per_epoch);
  return plan;
}

int64_t evaluations_until(const TrainingOptions& options, const Plan& plan, int64_t step) {
  if (options.eval_steps > 0) return step / options.eval_steps;
  return step * std::min(options.num_eval_per_epoch, plan.steps_per_epoch) / plan.steps_per_epoch;
}

}  // namespace berth
