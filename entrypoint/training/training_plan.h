#pragma once

#include <string>
#include <vector>

#include "entrypoint/job/job.h"
#include "entrypoint/job/training_memory.h"
#include "entrypoint/memory/disk_budget.h"
#include "entrypoint/memory/memory_budget.h"
#include "entrypoint/report/html/job_page.h"
#include "entrypoint/training/training_inputs.h"
#include "trainer/engine/device.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/loop/checkpoint_folder.h"
#include "trainer/loop/memory_estimate.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/plan.h"

namespace berth {

// The facts about a training job that are known before its directory is touched.
struct TrainingPlan {
  TrainingOptions options{};           // with the metric that decides which model is best
  std::vector<std::string> metrics{};  // the names of the evaluations' metrics, the main one first
  std::string hypertune_metric{};      // what to report to a tuning service; empty: nothing
  DataMemory data{};                   // how much memory the rows take
  MemoryLimits limits{};               // of the host and of the device
  MemoryEstimate memory{};             // what the whole job takes
  DiskBudget disk{};                   // what it writes
  Plan updates{};                      // how many updates, over how many epochs
  OrderedRows rows{};                  // to train on
  JobReport report{};                  // the same for observers and for --dry-run
  TokenLengths lengths{};              // of the texts, or of the sequences that they become
};

// The second phase: finds out how many updates the job makes and how much memory it needs, and
// checks the flags that name metrics. Decides --embedding-mini-batch-size auto in the settings, as
// an earlier process of the job in `directory` did if that still fits. Writes nothing. With a token
// budget it tokenizes all rows. Throws kUsage on an unknown metric, and kStopped. Several workers
// call it together.
TrainingPlan plan_training(const Job& job, const JobDirectory& directory, TrainingInputs& inputs,
                           TrainingData& data, Device& device);

// --dry-run: prints the plan on standard output.
void print_plan(const TrainingPlan& plan, bool as_json);

// Throws kMemory, with a batch size that would fit, where the planned job needs more memory than
// there is. Logs where training will have to wait for checkpoints.
void require_memory_for(const TrainingPlan& plan, const TrainingInputs& inputs, Device& device);

// The job's files on each file system, and the free space there. A job that is resumed after its
// last update needs no other checkpoint. Lists the checkpoints that are there.
DiskBudget plan_disk(const Job& job, const TrainingInputs& inputs, TrainingData& data,
                     const Plan& updates, int64_t most_examples);

// Makes room if the disk is full, by the same options as the plan.
RoomOptions room_options(const JobDirectory& directory, const TrainingOptions& options);

}  // namespace berth
