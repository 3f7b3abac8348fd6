#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode train and train_and_eval with one seed: trains in the job directory, or resumes there, and
// exports the finished model. Returns at once where the job is finished. With --dry-run it prints
// the plan instead of training. Throws what run() promises.
void run_training(Job& job);

}  // namespace berth
