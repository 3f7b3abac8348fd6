#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode train and train_and_eval with several --seeds: trains one job for each seed, one after the
// other, and writes the mean of their metrics. Throws what run() promises.
void run_seeds(Job& job);

}  // namespace berth
