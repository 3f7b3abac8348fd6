#include "entrypoint/modes/earlier_job.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flag_value.h"
#include "entrypoint/platform/bundled_model.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/tasks/task_kinds.h"

namespace berth {
namespace {

// How rows are read; the same at training and afterwards.
constexpr std::array<std::string_view, 10> kReading = {"task",
                                                       "text-column",
                                                       "text-pair-column",
                                                       "label-column",
                                                       "max-seq-length",
                                                       "doc-stride",
                                                       "n-best-size",
                                                       "max-answer-length",
                                                       "version-2-with-negative",
                                                       "null-score-diff-threshold"};

void take_over(const EarlierJob& earlier, CommandLine& command_line) {
  std::string taken;
  for (const Flag& flag : flag_table()) {
    if (std::ranges::find(kReading, flag.name) == kReading.end()) continue;
    const std::string value = earlier.setting(flag.name);
    if (value.empty() || command_line.gives(flag.name)) continue;
    if (flag.value.get(command_line) == value) continue;
    flag.value.set(command_line, value);
    taken += cat(taken.empty() ? "" : " ", "--", flag.name, " ", value);
  }
  if (!taken.empty()) log_info(cat("as the job was trained: ", taken));
}

std::optional<EarlierJob> find_meant(Storage& storage, const Settings& settings) {
  const std::string &model = settings.model.model, &job_dir = settings.output.job_dir;
  if (!job_dir.empty()) {
    std::optional<EarlierJob> earlier = EarlierJob::find(storage, Uri::parse(job_dir));
    const auto began_with = [&] { return earlier->setting("model") == model; };
    if (earlier && (model.empty() || began_with())) return earlier;
  }
  if (model.empty()) return std::nullopt;
  return EarlierJob::find(storage, Uri::parse(model));
}

}  // namespace

std::optional<EarlierJob> EarlierJob::find(Storage& storage, const Uri& directory) {
  const std::optional<std::string> text = read_text(storage, JobDirectory(directory).record());
  if (!text) return std::nullopt;
  return EarlierJob(directory, *text);
}

EarlierJob::EarlierJob(const Uri& directory, std::string_view job_json) : directory_(directory) {
  const auto require = [&](bool holds) {
    if (holds) return;
    throw Error(Code::kIncompatible, "is not a job.json of berth", directory_.record().to_string());
  };
  const Json record = parse_json(job_json);
  require(record.is_object() && record.contains("settings") && record.contains("labels") &&
          record["settings"].is_object() && record["labels"].is_array());
  for (const auto& [name, value] : record["settings"].items()) {
    if (value.is_string()) settings_[name] = value;
  }
  // Of a meta data file, which need not be there any more.
  if (record.contains("max_seq_length") && record["max_seq_length"].is_number_unsigned()) {
    const auto length = record["max_seq_length"].get<uint64_t>();
    if (length > 0) settings_["max-seq-length"] = std::to_string(length);
  }
  for (const Json& label : record["labels"]) {
    require(label.is_string());
    labels_.push_back(label);
  }
  const bool has_task = record.contains("task") && record["task"].is_string();
  task_ = has_task ? record["task"].get<std::string>() : setting("task");
}

std::string EarlierJob::setting(std::string_view name) const {
  const auto found = settings_.find(name);
  return found != settings_.end() ? found->second : "";
}

LoraOptions EarlierJob::lora() const {
  return {.rank = static_cast<int64_t>(number("lora-rank")),
          .alpha = number("lora-alpha"),
          .target_modules = setting("lora-target-modules")};
}

Task EarlierJob::task() const { return find_task(task_).value_or(Task::kSequenceClassification); }

// 0 where an older version did not know the setting.
double EarlierJob::number(std::string_view name) const {
  const std::string text = setting(name);
  return text.empty() ? 0 : parse_real(text, {0, 1e9, true, true, "a number"});
}

Uri EarlierJob::place(std::string_view name, const Uri& part) const {
  const std::string elsewhere = setting(name);
  return elsewhere.empty() ? part : Uri::parse(elsewhere);
}

Uri EarlierJob::model() const { return place("export-dir", directory_.model()); }

Uri EarlierJob::checkpoints() const { return place("checkpoint-dir", directory_.checkpoints()); }

ModelOptions EarlierJob::first_model(ModelOptions options) const {
  const auto complete = [this](std::string& file, const char* name) {
    if (file.empty()) file = setting(name);
  };
  complete(options.model, "model");
  complete(options.model_config, "model-config");
  complete(options.vocab_file, "vocab-file");
  const std::string lower = setting("do-lower-case");
  if (!options.do_lower_case && !lower.empty()) options.do_lower_case = lower == "true";
  options.init = Init::kRandom;
  if (options.model.empty() && options.model_config.empty()) {
    if (const auto bundled = find_bundled_model()) options.model = bundled->string();
  }
  return options;
}

void adopt_earlier_job(Storage& storage, CommandLine& command_line) {
  const std::optional<EarlierJob> earlier = find_meant(storage, command_line.settings);
  if (!earlier) return;
  const Uri finished = earlier->model();
  if (!storage.stat(finished / "config.json")) {
    throw Error(Code::kNotFound, "the job has not finished, or its model was moved",
                finished.to_string(),
                "start it again; or --mode export_only makes a model of its best checkpoint, for "
                "--model");
  }
  ModelOptions& model = command_line.settings.model;
  if (!model.model.empty() || !model.model_config.empty() || !model.vocab_file.empty()) {
    log_info(
        cat("the model is the one that the job in ", earlier->directory().to_string(), " trained"));
  }
  model = {.model = finished.to_string()};  // with its own configuration and vocabulary
  take_over(*earlier, command_line);
}

}  // namespace berth
