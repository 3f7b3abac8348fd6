#include "entrypoint/flags/flag_table.h"

namespace berth {
namespace {

constexpr RealRange kEpochs{0, 1e6, false, true, "a number above 0, at most 1000000"};

auto training(auto member) { return place(&CommandLine::settings, &Settings::training, member); }

}  // namespace

std::vector<Flag> training_flags() {
  using enum FlagGroup;
  return {
      {"epochs",
       {"num-train-epochs", "num-epochs"},
       kTraining,
       "Passes over the training rows; may be a fraction.",
       real_value(training(&TrainingOptions::epochs), kEpochs)},
      {"max-steps",
       {"max-train-steps", "num-train-steps"},
       kTraining,
       "Stop after so many updates, whatever --epochs says; 0 leaves it to --epochs.",
       integer_value(training(&TrainingOptions::max_steps), {0, kAnyCount})},
      {"batch-size",
       {"train-batch-size"},
       kTraining,
       "Examples per update, over all micro-batches.",
       integer_value(training(&TrainingOptions::batch_size), {1, 1'000'000})},
      {"token-budget",
       {},
       kTraining,
       "Tokens per update at most, over all micro-batches: as many examples as fit, at least one, "
       "and no more than --batch-size where that is given, too. To know the number of updates, all "
       "rows are tokenized before the first. 0 means any number.",
       integer_value(training(&TrainingOptions::token_budget), {0, 100'000'000})},
      {"gradient-accumulation-steps",
       {},
       kTraining,
       "Micro-batches that an update is split into: less memory, the same update.",
       integer_value(training(&TrainingOptions::gradient_accumulation_steps), {1, 1'000'000})},
      {"recompute",
       {"gradient-checkpointing"},
       kTraining,
       "Keep only each layer's result for the backward pass and compute the rest again: the same "
       "weights, slower, with much less memory.",
       switch_value(training(&TrainingOptions::recompute))},
      {"drop-remainder",
       {"dataloader-drop-last"},
       kTraining,
       "Leave out an epoch's last update where it has fewer examples.",
       switch_value(training(&TrainingOptions::drop_remainder))},
      {"seed",
       {},
       kTraining,
       "Seed of every random choice; the same seed, files and flags give the same weights.",
       integer_value(training(&TrainingOptions::seed), {0, INT64_MAX})},
      {"seeds",
       {"num-seeds"},
       kTraining,
       "Train so many times, with --seed and the seeds after it, each in JOB_DIR/seed-SEED; "
       "JOB_DIR/metrics.json has the mean and the standard deviation of each metric.",
       integer_value(training(&TrainingOptions::seeds), {1, 1000})},
  };
}

}  // namespace berth
