#include "entrypoint/job/export_checkpoint.h"

#include "entrypoint/job/export_results.h"
#include "entrypoint/job/generator.h"
#include "entrypoint/job/hub_model.h"
#include "entrypoint/job/resolve_settings.h"
#include "entrypoint/job/settle_embedding.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

ModelDescription describe(Job& job, const Settings& settings, const EarlierJob& earlier) {
  ModelFolder folder(job.storage, settings.model);
  // No rows are read here. The name of the job's data file says whether it needed a vocabulary.
  const DataOptions data{.train_data_file = earlier.setting("train-data-file"),
                         .max_seq_length = 1};
  ModelDescription model = describe_model(folder, settings.model, data);
  model.config.task = earlier.task();
  model.config.labels = earlier.labels();
  if (earlier.has_own_decoder()) model.config.ties_word_embeddings = false;
  model.config.vector_size = earlier.vector_size();
  if (compares_texts(model.config)) {
    settle_comparison(folder, read_sentence_files(folder), settings, model);
  }
  settle_generator(job, settings, model.config);
  require_exportable(settings, model.config);
  if (settings.output.export_adapter && !settings.training.optimization.lora) {
    throw Error(Code::kUsage, "the job trained no adapter", "--export-adapter",
                "leave the flag out");
  }
  return model;
}

JobMetrics metrics_of(const EarlierJob& earlier, Task task) {
  JobMetrics metrics;
  metrics.task = task;
  for (const char* file : {"eval-data-file", "train-data-file", "data-dir"}) {
    if (metrics.dataset.empty()) metrics.dataset = earlier.setting(file);
  }
  metrics.base_model = local_or_hub_name(earlier.setting("model"));
  return metrics;
}

}  // namespace

CheckpointExport::CheckpointExport(Job& job, const EarlierJob& earlier)
    : job_(job),
      settings_(resolve_export(job.command_line.settings, earlier)),
      model_(describe(job, settings_, earlier)),
      metrics_(metrics_of(earlier, model_.config.task)) {}

void CheckpointExport::write(CheckpointStore& checkpoints, int64_t step, const Uri& directory,
                             const std::optional<EvaluationResult>& evaluation) {
  HostTensors values(parameter_table(model_.config, settings_.training.optimization.lora));
  checkpoints.restore_parameters(step, values);
  metrics_.evaluation = evaluation;
  export_results(job_.storage, settings_, directory, model_, values, metrics_);
  const std::string from = checkpoints.step_directory(step).to_string();
  job_.progress.set_step(step);
  job_.progress.set_checkpoint(from);
  log_info(cat("exported ", from, " to ", directory.to_string()));
}

}  // namespace berth
