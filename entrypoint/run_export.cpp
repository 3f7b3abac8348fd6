#include <nlohmann/json.hpp>
#include <optional>

#include "entrypoint/bundled_model.h"
#include "entrypoint/export_job.h"
#include "entrypoint/flag_value.h"
#include "entrypoint/job.h"
#include "entrypoint/preflight.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/results.h"
#include "trainer/tasks/task_kinds.h"

namespace berth {
namespace {

// What an earlier job's job.json says.
class EarlierJob {
 public:
  EarlierJob(Storage& storage, const Uri& directory)
      : where_((directory / "job.json").to_string()) {
    const std::optional<std::string> text = read_text(storage, directory / "job.json");
    if (!text) {
      throw Error(Code::kNotFound, "no job.json, so no job was here", directory.to_string(),
                  "give the --job-dir of a job, or --model alone");
    }
    record_ = parse_json(*text);
    if (!record_.is_object() || !record_.contains("settings") || !record_.contains("labels") ||
        !record_["settings"].is_object() || !record_["labels"].is_array()) {
      throw Error(Code::kIncompatible, "is not a job.json of berth", where_);
    }
  }

  std::string setting(const char* name) const {
    const Json& settings = record_["settings"];
    return settings.contains(name) && settings[name].is_string() ? settings[name] : "";
  }

  std::vector<std::string> labels() const {
    std::vector<std::string> labels;
    for (const Json& label : record_["labels"]) {
      if (!label.is_string()) throw Error(Code::kIncompatible, "a label is no text", where_);
      labels.push_back(label);
    }
    return labels;
  }

  // The adapters that its checkpoints hold.
  LoraOptions lora() const {
    return {.rank = static_cast<int64_t>(number("lora-rank")),
            .alpha = number("lora-alpha"),
            .target_modules = setting("lora-target-modules")};
  }

  Task task() const {
    if (!record_.contains("task") || !record_["task"].is_string()) {
      return find_task(setting("task")).value_or(Task::kSequenceClassification);
    }
    return find_task(record_["task"].get<std::string>()).value_or(Task::kSequenceClassification);
  }

 private:
  // 0 where an older version did not know the setting.
  double number(const char* name) const {
    const std::string text = setting(name);
    return text.empty() ? 0 : parse_real(text, {0, 1e9, true, true, "a number"});
  }

  const std::string where_;
  Json record_;
};

// The model that the job began with, where no flag names another place for it.
ModelOptions first_model(const EarlierJob& earlier, ModelOptions options) {
  const auto complete = [&earlier](std::string& place, const char* name) {
    if (place.empty()) place = earlier.setting(name);
  };
  complete(options.model, "model");
  complete(options.model_config, "model-config");
  complete(options.vocab_file, "vocab-file");
  const std::string lower = earlier.setting("do-lower-case");
  if (!options.do_lower_case && !lower.empty()) options.do_lower_case = lower == "true";
  options.init = Init::kRandom;  // its parameters are not wanted
  if (options.model.empty() && options.model_config.empty()) {
    if (const auto bundled = find_bundled_model()) options.model = bundled->string();
  }
  return options;
}

void export_checkpoint(Job& job, const EarlierJob& earlier, CheckpointStore& checkpoints,
                       int64_t step) {
  preflight(job.storage, job.settings);
  const Uri directory = Uri::parse(job.settings.output.export_dir);
  const ModelOptions options = first_model(earlier, job.settings.model);
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
  const bool names_model = !job.settings.model.model.empty();
  if (names_model && !job.storage.stat(directory / "job.json")) return run_conversion(job);
  const EarlierJob earlier(job.storage, directory);
  const std::string elsewhere =
      output.checkpoint_dir.empty() ? earlier.setting("checkpoint-dir") : output.checkpoint_dir;
  CheckpointStore checkpoints(
      job.storage, elsewhere.empty() ? directory / "checkpoints" : Uri::parse(elsewhere), 0);
  if (const std::optional<int64_t> step = checkpoints.preferred_step()) {
    return export_checkpoint(job, earlier, checkpoints, *step);
  }
  // Checkpoints may have been cleared away after the end.
  job.settings.model.model = (directory / "model").to_string();
  run_conversion(job);
}

}  // namespace berth
