#include "entrypoint/modes/export_only.h"

#include <optional>

#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/export_results.h"
#include "entrypoint/job/generator.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/job/resolve_settings.h"
#include "entrypoint/modes/conversion.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/results.h"

namespace berth {
namespace {

void export_checkpoint(Job& job, const EarlierJob& earlier, CheckpointStore& checkpoints,
                       int64_t step) {
  preflight(job.storage, job.command_line.settings);
  const Settings settings = resolve_export(job.command_line.settings, earlier);
  const LoraOptions& lora = settings.training.optimization.lora;
  const Uri directory = Uri::parse(settings.output.export_dir);
  ModelFolder folder(job.storage, settings.model);
  // No rows are read here. The name of the job's data file says whether it needed a vocabulary.
  const DataOptions data{.train_data_file = earlier.setting("train-data-file"),
                         .max_seq_length = 1};
  ModelDescription model = describe_model(folder, settings.model, data);
  model.config.task = earlier.task();
  model.config.labels = earlier.labels();
  model.config.vector_size = earlier.vector_size();
  settle_generator(job, settings, model.config);
  require_exportable(settings, model.config);
  if (settings.output.export_adapter && !lora) {
    throw Error(Code::kUsage, "the job trained no adapter", "--export-adapter",
                "leave the flag out");
  }
  HostTensors values(parameter_table(model.config, lora));
  checkpoints.restore_parameters(step, values);
  JobMetrics metrics;
  metrics.task = model.config.task;
  export_results(job.storage, settings, directory, model, values, metrics);
  job.progress.step = step;
  job.progress.checkpoint = checkpoints.step_directory(step).to_string();
  log_info(cat("exported ", job.progress.checkpoint, " to ", directory.to_string()));
}

}  // namespace

void run_export(Job& job) {
  const Settings& asked = job.command_line.settings;
  const OutputOptions& output = asked.output;
  if (output.job_dir.empty()) return run_conversion(job);  // --model is exported
  const Uri directory = Uri::parse(output.job_dir);
  // On Vertex AI there always is a job directory, but it may be empty.
  const std::optional<EarlierJob> earlier = EarlierJob::find(job.storage, directory);
  if (!earlier && !asked.model.model.empty()) return run_conversion(job);
  if (!earlier) {
    throw Error(Code::kNotFound, "there is no job.json, so no job was here", directory.to_string(),
                "give the --job-dir of a job, or --model alone");
  }
  const std::string& elsewhere = output.checkpoint_dir;
  CheckpointStore checkpoints(
      job.storage, elsewhere.empty() ? earlier->checkpoints() : Uri::parse(elsewhere), 0);
  if (const std::optional<int64_t> step = checkpoints.preferred_step()) {
    return export_checkpoint(job, *earlier, checkpoints, *step);
  }
  // The checkpoints may have been deleted after the job finished.
  Settings settings = asked;
  settings.model.model = earlier->model().to_string();
  convert_model(job.storage, settings);
}

}  // namespace berth
