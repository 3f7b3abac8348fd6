#include <memory>
#include <optional>

#include "entrypoint/job/cluster.h"
#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/job_results.h"
#include "entrypoint/job/output_locks.h"
#include "entrypoint/modes/modes.h"
#include "entrypoint/training/finished_job.h"
#include "entrypoint/training/training_inputs.h"
#include "entrypoint/training/training_plan.h"
#include "entrypoint/training/training_run.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/file_lock.h"
#include "trainer/engine/device.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/loop/saves.h"

namespace berth {
namespace {

// Whether the job is finished, and this is not a --dry-run. If its model was removed, it is written
// again.
bool is_finished(Job& job, const JobDirectory& directory) {
  const auto finished = find_finished_job(job.storage, job.command_line, directory);
  if (!finished) return false;
  const CommandLine& asked = job.command_line;
  if (finished->has_model) {
    job.progress.set_step(finished->steps);
    log_info(cat("already finished: ", directory.root().to_string(), " holds the results"));
  } else if (!asked.dry_run && asked.settings.training.place.leads()) {
    write_removed_model(job, directory, finished->steps);
  }
  if (!asked.dry_run && asked.cluster.rank.value_or(0) == 0) {
    job.progress.set_results(training_results(asked, job.storage, directory, finished->task));
  }
  return !asked.dry_run;
}

void train_and_write(Job& job, const JobDirectory& directory) {
  const bool dry_run = job.command_line.dry_run;
  TrainingInputs inputs = read_inputs(job);
  require_same_reading(job.storage, directory, inputs);
  TrainingData data(inputs);
  const std::unique_ptr<Device> device = make_device(job);
  const TrainingPlan plan = plan_training(job, directory, inputs, data, *device);
  if (dry_run) print_plan(plan, /*as_json=*/job.command_line.log_format == "json");
  require_memory_for(plan, inputs, *device);
  require_disk(plan.disk);
  if (dry_run) return;
  TrainingRun run(job, directory, inputs, plan, *device);
  if (inputs.teacher) run.enter(JobPhase::kTeaching);
  data.ask_teacher(job.storage, directory.teacher());
  const TrainResult result = run.train(data);
  inputs.probes.reset();  // removes their directory before the job counts as finished
  run.enter(JobPhase::kExporting);
  if (job.command_line.settings.training.place.leads()) {
    job.stop_point();
    write_last([&] { write_results(job, directory, inputs, plan, run, result); });
  }
  run.enter(JobPhase::kFinished);
}

// The command line of a worker other than 0: the same training, without its results. The files that
// every job writes go to a directory of its own.
CommandLine as_follower(CommandLine line, const std::string& own_directory) {
  Settings& settings = line.settings;
  settings.output = {.job_dir = own_directory, .report = false};
  settings.training.keeps_weights = false;
  settings.probes = {};
  line.mlflow = {};
  line.tuning = {};
  line.log_histograms = false;
  line.profiled_updates = 0;
  return line;
}

// Trains as one of several workers.
void train_in(Cluster& cluster, Job& job, const JobDirectory& directory) {
  CommandLine line = job.command_line;
  const SharedPrecision shared = share_precision(job, *cluster.ranks());
  line.settings.precision = shared.precision;
  line.settings.data.reads_in_order = shared.reads_in_order;
  line.settings.data.words_end_at_spaces = shared.words_end_at_spaces;
  line.settings.data.holds_out_blank = shared.holds_out_blank;
  const RankPlace place = cluster.place();
  line.settings.training.place = place;
  std::optional<TemporaryDirectory> own;
  if (!cluster.leads()) {
    own.emplace("worker");
    line = as_follower(std::move(line), own->path().string());
    job.output.keep_observers(0);
  }
  Job worker = job.with(line);
  worker.has_leases = cluster.leads();
  worker.ranks = cluster.ranks();
  worker.without_bf16 = shared.without_bf16;
  worker.hosts = {.rank = place.rank, .size = place.size, .store = &cluster.store()};
  train_and_write(worker, cluster.leads() ? directory : JobDirectory(line.settings.output));
}

}  // namespace

void run_training(Job& asked) {
  const JobDirectory directory(asked.command_line.settings.output);
  CommandLine line = with_precision_of_job(asked, directory);
  for (const auto of_job :
       {with_reading_of_job, with_checkpoint_limit_of_job, with_mini_batch_of_job}) {
    line = of_job(asked.storage, directory, std::move(line));
  }
  Job job = asked.with(line);
  const auto finished = [&] { return is_finished(job, directory); };
  if (finished()) return;
  if (const Precision begun = line.settings.precision;
      begun != asked.command_line.settings.precision) {
    log_info(cat("precision: ", name_of(begun),
                 ", because the job began with it and no flag names another"));
  }
  const bool is_alone = !Cluster::is_wanted(job.command_line) || job.command_line.dry_run;
  if (is_alone) return train_and_write(job, directory);
  // A second worker 0 ends here, before it says where it listens.
  std::optional<OutputLocks> leases;
  if (job.command_line.cluster.rank == 0) leases.emplace(directory, job.fences, job.stop);
  work_together(
      job, [&](Cluster& cluster) { train_in(cluster, job, directory); }, finished);
}

}  // namespace berth
