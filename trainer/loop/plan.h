#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/batcher.h"
#include "trainer/data/dataset.h"
#include "trainer/inputs/options.h"

namespace berth {

// The options by which a Batcher cuts the training rows into updates, with the data to skip.
BatchOptions batch_options(const TrainingOptions& options, std::vector<SkippedData> skipped);

// How many updates a job makes.
struct Plan {
  int64_t steps_per_epoch = 0;  // the average, if epochs have different numbers of updates
  int64_t total_steps = 0;
  double epochs = 0;  // passes over the data
  // Of the first epoch, where texts are kept apart; see Batcher::count().
  Batcher::EpochCount first_epoch{};
};
// Counts the updates of a job. With a token budget, or where equal texts are kept apart, it counts
// the updates of every epoch exactly.
// It does not account for data that will be skipped, because they are not known yet.
Plan make_plan(const TrainingOptions& options, Dataset& train_data);

// The number of evaluations that are due in the first `step` updates. They are spread over an epoch
// as evenly as whole numbers allow.
int64_t evaluations_until(const TrainingOptions& options, const Plan& plan, int64_t step);

}  // namespace berth
