#include "entrypoint/modes/onnx_conversion.h"

#include <optional>

#include "entrypoint/job/export_results.h"
#include "entrypoint/job/job.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/onnx_files.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

std::optional<Task> named_task(const std::string& name) {
  const GlueTask* glue = find_glue_task(name);
  return glue != nullptr ? std::optional(glue->task) : find_task(name);
}

ModelConfig config_for_graph(const Settings& settings, ModelFolder& folder) {
  ModelConfig config;
  try {
    config = parse_config(folder.config_json());
  } catch (const Error& error) {
    throw error.at(folder.name() + ": its configuration");
  }
  std::optional<Task> task = named_task(settings.data.task);
  if (!task) task = config.saved_task;
  config.task = task.value_or(Task::kHiddenStates);
  const TaskTraits& row = traits(config.task);
  if (!row.has_classes) config.labels = output_labels(config.task);
  // transformers saves no names of two labels that have none.
  if (row.has_classes && config.labels.empty()) config.labels = {"LABEL_0", "LABEL_1"};
  return config;
}

}  // namespace

void convert_to_onnx(Storage& storage, const Settings& settings, ModelFolder& folder,
                     const Uri& directory) {
  const ModelConfig config = config_for_graph(settings, folder);
  require_exportable(settings, config);
  HostTensors values(parameter_table(config));
  fill_parameters(folder, settings.model, config, /*seed=*/0, compute_threads(settings), values,
                  HeadNeed::kRequired);
  const DType dtype = settings.output.export_dtype.value_or(DType::kF32);
  write_text(storage, directory / "config.json", to_config_json(config, dtype));
  export_onnx(storage, directory, config, values, dtype);
  log_info(cat("the graph is for ", task_name(config.task)));
}

}  // namespace berth
