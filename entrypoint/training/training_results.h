#pragma once

#include "entrypoint/job/job.h"
#include "entrypoint/training/training_inputs.h"
#include "entrypoint/training/training_plan.h"
#include "entrypoint/training/training_run.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/train.h"

namespace berth {

// The last phase: evaluates the model on MNLI's second set where there is one, exports the finished
// model, and reports the results. metrics.json is written last, because it says that the job is
// finished. The engine of `run` holds the trained model. Where the disk is full, older checkpoints
// make room. Throws what storage throws, and kStopped.
void write_results(Job& job, const JobDirectory& directory, const TrainingInputs& inputs,
                   const TrainingPlan& plan, TrainingRun& run, const TrainResult& result);

}  // namespace berth
