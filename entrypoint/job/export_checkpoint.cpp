#include "entrypoint/job/export_checkpoint.h"

#include "entrypoint/job/export_results.h"
#include "entrypoint/job/generator.h"
#include "entrypoint/job/hub_model.h"
#include "entrypoint/job/resolve_settings.h"
#include "entrypoint/job/settle_embedding.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/loop/results.h"

namespace berth {

void export_checkpoint(Job& job, const EarlierJob& earlier, CheckpointStore& checkpoints,
                       int64_t step, const Uri& directory,
                       const std::optional<EvaluationResult>& evaluation) {
  const Settings settings = resolve_export(job.command_line.settings, earlier);
  const LoraOptions& lora = settings.training.optimization.lora;
  ModelFolder folder(job.storage, settings.model);
  // No rows are read here. The name of the job's data file says whether it needed a vocabulary.
  const DataOptions data{.train_data_file = earlier.setting("train-data-file"),
                         .max_seq_length = 1};
  ModelDescription model = describe_model(folder, settings.model, data);
  model.config.task = earlier.task();
  model.config.labels = earlier.labels();
  model.config.vector_size = earlier.vector_size();
  if (compares_texts(model.config)) {
    settle_embedding(read_sentence_files(folder), settings.embedding, model.config);
  }
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
  metrics.evaluation = evaluation;
  for (const char* file : {"eval-data-file", "train-data-file", "data-dir"}) {
    if (metrics.dataset.empty()) metrics.dataset = earlier.setting(file);
  }
  metrics.base_model = local_or_hub_name(earlier.setting("model"));
  export_results(job.storage, settings, directory, model, values, metrics);
  const std::string from = checkpoints.step_directory(step).to_string();
  job.progress.set_step(step);
  job.progress.set_checkpoint(from);
  log_info(cat("exported ", from, " to ", directory.to_string()));
}

}  // namespace berth
