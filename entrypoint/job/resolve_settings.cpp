#include "entrypoint/job/resolve_settings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/job/earlier_reading.h"
#include "entrypoint/job/hub_model.h"
#include "entrypoint/platform/bundled_model.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/data/label_form.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/load_model.h"

namespace berth {
namespace {

bool is_taken_over(const FlagRole& role, const EarlierJob& earlier, Mode mode) {
  if (role.has(kAsTrained)) return true;
  if (!traits(mode).scores()) return false;
  return role.has(kAsScored) || (earlier.task() == Task::kInBatchNegatives && role.has(kAsBatched));
}

bool tells_labels(const CommandLine& command_line) {
  return command_line.gives("label-separator") || command_line.gives("label-lists");
}

// Copies from `earlier` the flags of is_taken_over(), unless they were given.
void take_over_reading(const EarlierJob& earlier, CommandLine& command_line) {
  std::string taken;
  for (const Flag& flag : flag_table()) {
    if (!is_taken_over(flag.role, earlier, command_line.settings.mode)) continue;
    const std::string value = earlier.setting(flag.name);
    if (value.empty() || command_line.gives(flag.name)) continue;
    if (flag.value.get(command_line) == value) continue;
    flag.value.set(command_line, value);
    taken += cat(taken.empty() ? "" : " ", "--", flag.name, " ", value);
  }
  // What a flag says of labels outranks what the job found out about its own.
  const bool is_told = tells_labels(command_line);
  const std::optional<Task> asked = find_task(command_line.settings.data.task);
  const bool is_same = !command_line.gives("task") || asked == earlier.task();
  if (earlier.label_form() && !is_told && is_same) {
    command_line.settings.data.labels = *earlier.label_form();
  }
  if (!taken.empty()) log_info(cat("taken over from the job: ", taken));
}

// The job whose finished model is meant. It is the job in --job-dir, unless --model names another
// model than the one that the job was trained from. Otherwise it is the job whose directory --model
// names. nullopt if there is no such job.
std::optional<EarlierJob> find_meant_job(Storage& storage, const Settings& settings) {
  const std::string &model = settings.model.model, &job_dir = settings.output.job_dir;
  if (!job_dir.empty()) {
    std::optional<EarlierJob> earlier = EarlierJob::find(storage, Uri::parse(job_dir));
    const auto began_with = [&] { return earlier->setting("model") == model; };
    if (earlier && (model.empty() || began_with())) return earlier;
  }
  if (model.empty()) return std::nullopt;
  return EarlierJob::find(storage, Uri::parse(model));
}

// For --mode eval, predict and embed. If an earlier job is meant, replaces the model in
// `command_line` by the job's model. Copies the job's flags for reading rows, unless they were
// given. Returns the job; if none is meant, it does nothing.
std::optional<EarlierJob> adopt_earlier_job(Storage& storage, CommandLine& command_line) {
  std::optional<EarlierJob> earlier = find_meant_job(storage, command_line.settings);
  if (!earlier) return earlier;
  const Uri finished = earlier->model();
  if (!storage.stat(finished / "config.json")) {
    throw Error(Code::kNotFound, "the job has not finished, or its model was moved away",
                finished.to_string(),
                "start the job again, or make a model of its best checkpoint with --mode "
                "export_only and name it with --model");
  }
  ModelOptions& model = command_line.settings.model;
  if (!model.model.empty() || !model.model_config.empty() || !model.vocab_file.empty()) {
    log_info(cat("using the model that the job in ", earlier->directory().to_string(), " trained"));
  }
  model = {.model = finished.to_string()};  // it has its own configuration and vocabulary
  take_over_reading(*earlier, command_line);
  TextForm& form = command_line.settings.data.text_form;
  form.usual_words = earlier->words();
  form.usual_tags = earlier->tags();
  keep_reading_of(*earlier, command_line);
  return earlier;
}

// The model in a directory that holds no record of a job. It is never a name of the hub.
std::string model_without_record(Storage& storage, const Uri& job_dir) {
  const Uri model = job_dir / kModelFolderName;
  if (!storage.list(model, 1).empty()) return model.to_string();
  throw Error(Code::kNotFound, "there is no finished job here", job_dir.to_string(),
              "check --job-dir, which for a job of --seeds is JOB_DIR/seed-N; or name a model with "
              "--model");
}

// The model of a job that names none. Empty if the job needs none.
std::string default_model(Storage& storage, const Settings& settings) {
  if (!traits(settings.mode).trains()) {
    return model_without_record(storage, Uri::parse(settings.output.job_dir));
  }
  const bool has_config = !settings.model.model_config.empty();
  const bool has_vocabulary = !settings.model.vocab_file.empty();
  const bool is_whole = has_config && (has_vocabulary || !needs_tokenizer(settings.data));
  if (is_whole && settings.model.init == Init::kRandom) return "";
  if (has_config || has_vocabulary) {
    throw Error(Code::kUsage,
                "--model-config and --vocab-file complete a --model, and none is given", "",
                "name it with --model, or give both files and --init random to train from scratch");
  }
  const auto bundled = find_bundled_model();
  if (!bundled) {
    throw Error(Code::kNotFound, "the bundled model is not installed beside the program", "",
                "name a model with --model");
  }
  return bundled->string();
}

}  // namespace

ResolvedJob resolve_settings(Storage& storage, const CommandLine& asked) {
  CommandLine completed = asked;
  Settings& settings = completed.settings;
  const ModeTraits& mode = traits(settings.mode);
  std::optional<EarlierJob> earlier;
  if (mode.runs_finished_model()) earlier = adopt_earlier_job(storage, completed);
  if (asked.parent_process > 0) settings.training.keeps_weights = false;
  if (!mode.needs_any(kNeedsTokenizer) && settings.model.model.empty()) {
    settings.model.model = default_model(storage, settings);
  }
  for (std::string* model : {&settings.model.model, &settings.distillation.teacher}) {
    *model = local_or_hub_model(storage, *model);
  }
  DataSources sources = resolve_data(storage, completed, settings);
  if (earlier) {
    for (DataRequest* request : {&sources.eval, &sources.predict, &sources.mismatched}) {
      request->rules.columns.trained = earlier->columns();
    }
  }
  return {.settings = std::move(settings),
          .sources = std::move(sources),
          .is_of_job = earlier.has_value(),
          .labels_are_unrecorded = earlier && !earlier->label_form() &&
                                   has_label_forms(earlier->task()) && !tells_labels(asked)};
}

Settings resolve_export(const Settings& asked, const EarlierJob& earlier) {
  Settings settings = asked;
  settings.model = earlier.first_model(asked.model);
  settings.training.optimization.lora = earlier.lora();
  settings.electra = earlier.electra(asked.electra);
  settings.embedding = earlier.embedding();
  settings.data.max_seq_length = earlier.max_seq_length();
  return settings;
}

}  // namespace berth
