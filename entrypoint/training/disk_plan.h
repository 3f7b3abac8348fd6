#pragma once

#include "entrypoint/job/job.h"
#include "entrypoint/memory/disk_budget.h"
#include "entrypoint/training/training_inputs.h"
#include "trainer/loop/checkpoint_room.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/plan.h"

namespace berth {

// The job's files on each file system, and the free space there. A job that is resumed after its
// last update needs no other checkpoint. Lists the checkpoints that are there.
DiskBudget plan_disk(const Job& job, const TrainingInputs& inputs, TrainingData& data,
                     const Plan& updates, int64_t most_examples);

// Makes room if the disk is full, by the same options as the plan.
RoomOptions room_options(const JobDirectory& directory, const TrainingOptions& options);

}  // namespace berth
