#include "entrypoint/modes/training.h"

#include <memory>
#include <optional>

#include "entrypoint/training/finished_job.h"
#include "entrypoint/training/removed_model.h"
#include "entrypoint/training/training_inputs.h"
#include "entrypoint/training/training_plan.h"
#include "entrypoint/training/training_results.h"
#include "entrypoint/training/training_run.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/engine/device.h"
#include "trainer/loop/job_directory.h"

namespace berth {
namespace {

// Whether the job is finished, and does not only say what it would do. If its model was removed, it
// is written again.
bool is_finished(Job& job, const JobDirectory& directory) {
  const auto finished = find_finished_job(job.storage, job.command_line, directory);
  if (!finished) return false;
  if (finished->has_model) {
    job.progress.set_step(finished->steps);
    log_info(cat("already finished: ", directory.root().to_string(), " holds the results"));
  } else if (!job.command_line.dry_run) {
    write_removed_model(job, directory, finished->steps);
  }
  return !job.command_line.dry_run;
}

}  // namespace

void run_training(Job& job) {
  const JobDirectory directory(job.command_line.settings.output);
  const bool dry_run = job.command_line.dry_run;
  if (is_finished(job, directory)) return;

  TrainingInputs inputs = read_inputs(job);
  TrainingData data(inputs);
  const std::unique_ptr<Device> device = make_device(job);
  const TrainingPlan plan = plan_training(job, inputs, data, *device);
  if (dry_run) print_plan(plan, /*as_json=*/job.command_line.log_format == "json");
  require_memory_for(plan, inputs, *device);
  if (dry_run) return;
  TrainingRun run(job, directory, inputs, plan, *device);
  if (inputs.teacher) run.enter(JobPhase::kTeaching);
  data.ask_teacher(job.storage, directory.teacher());
  const TrainResult result = run.train(data);
  inputs.probes.reset();  // removes their directory before the job counts as finished
  run.enter(JobPhase::kExporting);
  write_results(job, directory, inputs, plan, run.engine(), result);
  run.enter(JobPhase::kFinished);
}

}  // namespace berth
