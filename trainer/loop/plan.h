#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/batcher.h"
#include "trainer/data/dataset.h"
#include "trainer/loop/options.h"

namespace berth {

// How the training rows are cut into updates, but for what is skipped.
BatchOptions batch_options(const TrainingOptions& options, std::vector<SkippedData> skipped);

// How many updates a job makes.
struct Plan {
  int64_t steps_per_epoch = 0;  // on the average, with a token budget
  int64_t total_steps = 0;
  double epochs = 0;  // passes over the data
};
// With a token budget every epoch's updates are counted, as they will be made; skipped data are not
// known yet.
Plan make_plan(const TrainingOptions& options, Dataset& train_data);

}  // namespace berth
