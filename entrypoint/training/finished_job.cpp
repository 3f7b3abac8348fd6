#include "entrypoint/training/finished_job.h"

#include <nlohmann/json.hpp>
#include <string>

#include "entrypoint/flags/flags.h"
#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/export_results.h"
#include "entrypoint/job/output_locks.h"
#include "entrypoint/training/training_inputs.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_record.h"
#include "trainer/inputs/parameter_files.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/checkpoint_folder.h"
#include "trainer/loop/results.h"

namespace berth {
namespace {

// What metrics.json says of a finished job.
struct FinishedMetrics {
  int64_t steps = 0;
  // Empty: an earlier version wrote it.
  std::optional<int64_t> model_step{};  // of the model, which the evaluation belongs to
  std::map<std::string, uint64_t> model_bytes{};
};

// nullopt if metrics.json is absent or does not say that the job is finished. Throws kIncompatible
// if it reports several seeds.
std::optional<FinishedMetrics> find_metrics(Storage& storage, const Uri& metrics_file) {
  const std::optional<std::string> text = read_text(storage, metrics_file);
  if (!text) return std::nullopt;
  const Json parsed = parse_json(*text);
  const JsonObject metrics(parsed);
  if (metrics.find("seeds") != nullptr) {
    throw Error(Code::kIncompatible, "the job directory belongs to a job of several seeds",
                metrics_file.to_string(), "use another --job-dir");
  }
  const auto steps = metrics.within("train").integer("steps");
  if (!metrics.flag("finished").value_or(false) || !steps) return std::nullopt;
  FinishedMetrics finished{.steps = *steps,
                           .model_step = metrics.within("train").integer("model_step")};
  const Json* sizes = metrics.object("model_bytes");
  if (sizes == nullptr) return finished;
  for (const auto& [name, size] : sizes->items()) {
    if (size.is_number_unsigned()) finished.model_bytes[name] = size.get<uint64_t>();
  }
  return finished;
}

// Throws kIncompatible if `asked` wants something that the finished job has not done.
void require_nothing_new(const EarlierJob& finished, const Settings& asked) {
  const auto refuse = [&](const std::string& what, const char* hint) {
    throw Error(Code::kIncompatible, cat("the job is finished: ", what),
                finished.directory().to_string(), hint);
  };
  const std::string& export_dir = asked.output.export_dir;
  if (!export_dir.empty() && finished.setting("export-dir") != export_dir) {
    refuse(cat("its model was not written to ", export_dir), "--mode export_only writes it there");
  }
  if (traits(asked.mode).evaluates_training() &&
      !traits(finished.settings().mode).evaluates_training()) {
    refuse("it was trained without an evaluation", "--mode eval evaluates it");
  }
}

// The bytes of each file of parameters. `files` are all files below `model`.
std::map<std::string, uint64_t> parameter_bytes(const std::vector<Stat>& files, const Uri& model) {
  std::map<std::string, uint64_t> found;
  const size_t begin = (model / "x").to_string().size() - 1;
  for (const Stat& file : files) {
    const std::string_view name = last_part(file.name);
    const bool is_graph = name == kOnnxModelFile || name == kOnnxDataFile;
    if (!is_graph && !names_parameters(name) && !name.starts_with("bert_model.ckpt.")) continue;
    found[file.name.substr(begin)] = file.size;
  }
  return found;
}

// Whether `folder` has a configuration, parameters and, if the job exports one, an ONNX graph. The
// files of parameters must have as many bytes as they had.
bool is_model(Storage& storage, const Uri& folder, const EarlierJob& job,
              const FinishedMetrics& metrics) {
  bool has_config = false, has_parameters = false, has_graph = false;
  const std::vector<Stat> files = storage.list(folder);
  for (const Stat& file : files) {
    const std::string_view name = last_part(file.name);
    has_config = has_config || name == "config.json" || name == "adapter_config.json";
    has_parameters = has_parameters || names_parameters(name);
    has_graph = has_graph || name == kOnnxModelFile;
  }
  const bool wants_graph = job.settings().output.export_format == ExportFormat::kOnnx;
  if (!has_config || !has_parameters || (wants_graph && !has_graph)) return false;
  std::map<std::string, uint64_t> found = parameter_bytes(files, folder);
  for (const auto& [name, bytes] : metrics.model_bytes) {
    if (found[name] == bytes) continue;
    log_warning(cat((folder / name).to_string(), " has ", found[name], " bytes, and not the ",
                    bytes, " with which the job wrote it"));
    return false;
  }
  return true;
}

// Whether the model of the finished job is there. Throws kNotFound where the checkpoint that it can
// be written from is not there either, because the job would have to train again. `takes_best`:
// that is the best one.
bool has_model(Storage& storage, const JobDirectory& directory, const EarlierJob& job,
               const FinishedMetrics& metrics, bool takes_best) {
  if (is_model(storage, directory.model(), job, metrics)) return true;
  CheckpointStore checkpoints(storage, directory.checkpoints(), /*limit=*/0);
  const std::optional<int64_t> preferred = checkpoints.preferred_step();
  if (!preferred) {
    throw Error(Code::kNotFound,
                "the job is finished, and its model and its checkpoints are not there any more",
                directory.root().to_string(), "use another --job-dir to train again");
  }
  const auto complete = find_checkpoints(storage, directory.checkpoints());
  const auto needed =
      complete.find(metrics.model_step.value_or(takes_best ? *preferred : metrics.steps));
  if (needed != complete.end() && needed->second.is_complete) return false;
  throw Error(Code::kNotFound,
              cat("the job is finished, and its model and its ", takes_best ? "best" : "last",
                  " checkpoint are not there any more"),
              directory.root().to_string(),
              cat("--mode export_only with --export-dir writes the model of an older checkpoint, ",
                  checkpoints.step_directory(*preferred).to_string()));
}

// A finished job that is to become longer goes on from its last checkpoint.
void require_checkpoint(Storage& storage, const JobDirectory& directory) {
  if (CheckpointStore(storage, directory.checkpoints(), /*limit=*/0).preferred_step()) return;
  throw Error(Code::kNotFound,
              "the job is finished and cannot become longer, because its checkpoints are not there "
              "any more",
              directory.root().to_string(),
              "train its model further in another --job-dir, with --model JOB_DIR/model");
}

}  // namespace

std::optional<FinishedJob> find_finished_job(Storage& storage, const CommandLine& asked,
                                             const JobDirectory& directory) {
  const std::optional<FinishedMetrics> metrics = find_metrics(storage, directory.metrics());
  const std::optional<std::string> record = read_text(storage, directory.record());
  if (!record) return std::nullopt;
  const Settings& settings = asked.settings;
  if (!settings.output.reuse_job_dir) {
    throw Error(Code::kIncompatible, "the job directory was used before",
                directory.root().to_string(), "--no-reuse-job-dir asks for a new one");
  }
  const JobRecord now{.settings = settings_table(settings)};
  bool is_as_long = false;
  try {
    is_as_long = has_length_of(*record, now);
    // A finished job does not read its inputs again.
    check_settings_match(*record, as_known_to(*record, now, unnamed_settings()),
                         metrics && is_as_long ? InputPlaces::kMustMatch : InputPlaces::kMayDiffer);
  } catch (const Error& error) {
    throw error.at(directory.root().to_string());
  }
  if (!metrics) return std::nullopt;
  if (!is_as_long) {
    require_checkpoint(storage, directory);
    return std::nullopt;
  }
  const EarlierJob earlier(directory.root(), *record);
  require_nothing_new(earlier, settings);
  const bool takes_best = settings.training.load_best_model_at_end;
  return FinishedJob{.steps = metrics->steps,
                     .has_model = has_model(storage, directory, earlier, *metrics, takes_best),
                     .task = earlier.task()};
}

std::map<std::string, uint64_t> model_bytes(Storage& storage, const Uri& model) {
  return parameter_bytes(storage.list(model), model);
}

void require_same_reading(Storage& storage, const JobDirectory& directory,
                          const TrainingInputs& inputs) {
  const std::optional<std::string> record = read_text(storage, directory.record());
  if (!record) return;
  JobRecord read;
  add_reading(read, inputs);
  const std::string where = directory.root().to_string();
  try {
    check_sources_known(*record, read);  // other files are no other reading
  } catch (const Error& error) {
    throw error.at(where);
  }
  check_reading_matches(*record, read.reading, where);
}

std::optional<EvaluationResult> evaluation_of(const OrderedJson& metrics) {
  const auto found = metrics.find("eval");
  if (found == metrics.end() || !found->is_object()) return std::nullopt;
  EvaluationResult evaluation;
  evaluation.has_loss = found->contains("loss");
  const auto thresholds = found->find("label_thresholds");
  if (thresholds != found->end() && thresholds->is_object()) {
    for (const auto& [label, value] : thresholds->items()) {
      if (!value.is_number()) continue;
      evaluation.scores.classes.push_back({.name = label});
      evaluation.scores.label_thresholds.push_back(value.get<double>());
    }
  }
  for (const auto& [name, value] : found->items()) {
    if (!value.is_number()) continue;
    if (name == "examples") {
      if (value.is_number_integer()) evaluation.examples = value.get<int64_t>();
    } else if (name == "majority_rate") {
      evaluation.scores.majority_rate = value.get<double>();
    } else if (name != "loss") {
      evaluation.scores.metrics[name] = value.get<double>();
    }
  }
  return evaluation;
}

std::optional<EvaluationResult> evaluation_of_step(Storage& storage, const EarlierJob& job,
                                                   int64_t step, int64_t best) {
  const Uri file = JobDirectory(job.directory()).metrics();
  const std::optional<FinishedMetrics> finished = find_metrics(storage, file);
  if (!finished) return std::nullopt;
  const bool takes_best = job.settings().training.load_best_model_at_end;
  const int64_t evaluated = finished->model_step.value_or(takes_best ? best : finished->steps);
  if (evaluated != step) return std::nullopt;
  return evaluation_of(parse_ordered_json(read_text(storage, file).value_or("")));
}

void write_removed_model(Job& job, const JobDirectory& directory, int64_t steps) {
  log_info(cat("the model of the finished job is not complete in ", directory.model().to_string(),
               ": writing it again from the checkpoints"));
  const OutputLocks locks(directory, job.fences, job.stop);
  CheckpointStore checkpoints(job.storage, directory.checkpoints(), /*limit=*/0);
  const std::optional<FinishedMetrics> finished = find_metrics(job.storage, directory.metrics());
  if (finished && finished->model_step) {
    steps = *finished->model_step;
  } else if (job.command_line.settings.training.load_best_model_at_end) {
    steps = checkpoints.preferred_step().value_or(steps);
  }
  const std::optional<EarlierJob> earlier = EarlierJob::find(job.storage, directory.root());
  OrderedJson metrics =
      parse_ordered_json(read_text(job.storage, directory.metrics()).value_or(""));
  CheckpointExport(job, earlier.value())
      .write(checkpoints, steps, directory.model(), evaluation_of(metrics));
  const OrderedJson written = model_bytes(job.storage, directory.model());
  // Another version of the program may write files of other sizes.
  if (metrics.contains("model_bytes") && metrics["model_bytes"] != written) {
    metrics["model_bytes"] = written;
    write_text(job.storage, directory.metrics(), to_text(metrics, 2) + "\n");
  }
}

}  // namespace berth
