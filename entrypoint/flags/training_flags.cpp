#include "entrypoint/flags/flag_table.h"

namespace berth {
namespace {

constexpr RealRange kEpochs{0, 1e6, false, true, "a number above 0, at most 1000000"};

}  // namespace

std::vector<Flag> training_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {"epochs",
       {"num-train-epochs", "num-epochs"},
       kTraining,
       "How often to go through the training rows; may be a fraction.",
       real_value(training_option(&TrainingOptions::epochs), kEpochs),
       {kLength, kInTraining, kVaried}},
      {"max-steps",
       {"max-train-steps", "num-train-steps"},
       kTraining,
       "Stop after this many updates, whatever --epochs says. 0 means that --epochs decides.",
       integer_value(training_option(&TrainingOptions::max_steps), {0, kAnyCount}),
       {kLength, kInTraining}},
      {"batch-size",
       {"train-batch-size"},
       kTraining,
       "Examples in an update, over all micro-batches.",
       integer_value(training_option(&TrainingOptions::batch_size), {1, 1'000'000}),
       {kDecides, kEverywhere, kAsBatched | kVaried}},
      {"token-budget",
       {},
       kTraining,
       "The most tokens in an update, over all micro-batches. An update takes as many examples as "
       "fit, at least one, and no more than --batch-size if that is given. All rows are tokenized "
       "before the first update, to find the number of updates. 0 means no limit.",
       integer_value(training_option(&TrainingOptions::token_budget), {0, 100'000'000}),
       {kDecides, kEverywhere}},
      {"gradient-accumulation-steps",
       {},
       kTraining,
       "How many micro-batches an update is split into. More of them need less memory; the update "
       "stays the same.",
       integer_value(training_option(&TrainingOptions::gradient_accumulation_steps),
                     {1, 1'000'000}),
       {kDecides, kEverywhere, kAsBatched}},
      {"recompute",
       {"gradient-checkpointing"},
       kTraining,
       "Gradient checkpointing: keep only the output of each layer and compute its other "
       "activations again in the backward pass. Training is slower and needs much less memory; the "
       "weights are the same.",
       switch_value(training_option(&TrainingOptions::recompute)),
       {kFree, kInTraining}},
      {"drop-remainder",
       {"dataloader-drop-last"},
       kTraining,
       "Skip the last update of an epoch if it would have fewer examples than the others.",
       switch_value(training_option(&TrainingOptions::drop_remainder)),
       {kDecides, kInTraining}},
      {"seed",
       {},
       kTraining,
       "The seed of every random choice. The same seed, files and flags give the same weights.",
       integer_value(training_option(&TrainingOptions::seed), {0, INT64_MAX}),
       {kDecides, kInTraining, kVaried}},
      {"seeds",
       {"num-seeds"},
       kTraining,
       "Train this many times, with --seed and the seeds after it, each in JOB_DIR/seed-SEED. "
       "JOB_DIR/metrics.json then holds the mean and the standard deviation of each metric.",
       integer_value(training_option(&TrainingOptions::seeds), {1, 1000}),
       {kDecides, kInTraining}},
  };
}

}  // namespace berth
