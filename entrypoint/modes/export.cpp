#include <optional>

#include "entrypoint/modes/earlier_job.h"
#include "entrypoint/modes/export_job.h"
#include "entrypoint/modes/job.h"
#include "entrypoint/modes/preflight.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/results.h"
#include "trainer/tasks/task_kinds.h"

namespace berth {
namespace {

void export_checkpoint(Job& job, const EarlierJob& earlier, CheckpointStore& checkpoints,
                       int64_t step) {
  preflight(job.storage, job.settings);
  const Uri directory = Uri::parse(job.settings.output.export_dir);
  const ModelOptions options = earlier.first_model(job.settings.model);
  ModelFolder folder(job.storage, options);
  // No rows are read; whether the job's were texts tells if a vocabulary is needed.
  const DataOptions data{.train_data_file = earlier.setting("train-data-file"),
                         .max_seq_length = 1};
  ModelDescription model = describe_model(folder, options, data);
  model.config.task = earlier.task();
  model.config.labels = earlier.labels();
  require_exportable(job.settings, model.config);
  Machine machine(job.command_line);
  LoraOptions& lora = job.settings.training.optimization.lora;
  lora = earlier.lora();
  if (job.settings.output.export_adapter && !lora) {
    throw Error(Code::kUsage, "the job trained no adapter", "--export-adapter", "leave it out");
  }
  job.settings.model.model = options.model;  // which an adapter is said to belong to
  Parameters parameters(parameter_table(model.config, lora), /*with_gradients=*/false,
                        *machine.kernels);
  checkpoints.restore_parameters(step, parameters, *machine.kernels);
  JobMetrics metrics;
  metrics.task = model.config.task;
  export_results(job, directory, model, parameters, *machine.kernels, metrics);
  job.reached.step = step;
  job.reached.checkpoint = checkpoints.step_directory(step).to_string();
  log_info(cat("exported ", job.reached.checkpoint, " to ", directory.to_string()));
}

}  // namespace

void run_export(Job& job) {
  const OutputOptions& output = job.settings.output;
  if (output.job_dir.empty()) return run_conversion(job);  // of --model
  const Uri directory = Uri::parse(output.job_dir);
  // On Vertex AI there always is a job directory, if an empty one.
  const std::optional<EarlierJob> earlier = EarlierJob::find(job.storage, directory);
  if (!earlier && !job.settings.model.model.empty()) return run_conversion(job);
  if (!earlier) {
    throw Error(Code::kNotFound, "no job.json, so no job was here", directory.to_string(),
                "give the --job-dir of a job, or --model alone");
  }
  const std::string& elsewhere = output.checkpoint_dir;
  CheckpointStore checkpoints(
      job.storage, elsewhere.empty() ? earlier->checkpoints() : Uri::parse(elsewhere), 0);
  if (const std::optional<int64_t> step = checkpoints.preferred_step()) {
    return export_checkpoint(job, *earlier, checkpoints, *step);
  }
  // Checkpoints may have been cleared away after the end.
  job.settings.model.model = earlier->model().to_string();
  run_conversion(job);
}

}  // namespace berth
