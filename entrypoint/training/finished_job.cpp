#include "entrypoint/training/finished_job.h"

#include <nlohmann/json.hpp>
#include <string>

#include "entrypoint/flags/flags.h"
#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/precision_choice.h"
#include "entrypoint/training/training_inputs.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/job_record.h"
#include "trainer/loop/onnx_files.h"
#include "trainer/loop/parameter_files.h"

namespace berth {
namespace {

// The number of updates that metrics.json reports. nullopt if the file is absent or does not say
// that the job is finished. Throws kIncompatible if it reports several seeds.
std::optional<int64_t> steps_in_metrics(Storage& storage, const Uri& metrics_file) {
  const std::optional<std::string> text = read_text(storage, metrics_file);
  if (!text) return std::nullopt;
  const auto metrics = parse_json(*text);
  if (metrics.contains("seeds")) {
    throw Error(Code::kIncompatible, "the job directory belongs to a job of several seeds",
                metrics_file.to_string(), "use another --job-dir");
  }
  const Json::json_pointer finished("/finished"), steps("/train/steps");
  if (!metrics.contains(finished) || metrics.at(finished) != true || !metrics.contains(steps) ||
      !metrics.at(steps).is_number_integer()) {
    return std::nullopt;
  }
  return metrics.at(steps).get<int64_t>();
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
  if (asked.mode == Mode::kTrainAndEval && finished.setting("mode") == "train") {
    refuse("it was trained without an evaluation", "--mode eval evaluates it");
  }
}

// Whether `folder` has a configuration, parameters and, where the job exports one, an ONNX graph.
bool is_model(Storage& storage, const Uri& folder, const EarlierJob& job) {
  bool has_config = false, has_parameters = false, has_graph = false;
  for (const Stat& file : storage.list(folder)) {
    const std::string_view name = last_part(file.name);
    has_config = has_config || name == "config.json" || name == "adapter_config.json";
    has_parameters = has_parameters || names_parameters(name);
    has_graph = has_graph || name == kOnnxModelFile;
  }
  const bool wants_graph = job.setting("export-format") == "onnx";
  return has_config && has_parameters && (has_graph || !wants_graph);
}

// Whether the model of the finished job is there. Throws kNotFound where its checkpoints are not
// there either, because it would have to train again.
bool has_model(Storage& storage, const JobDirectory& directory, const EarlierJob& job) {
  if (is_model(storage, directory.model(), job)) return true;
  if (CheckpointStore(storage, directory.checkpoints(), /*limit=*/0).preferred_step()) return false;
  throw Error(Code::kNotFound,
              "the job is finished, and its model and its checkpoints are not there any more",
              directory.root().to_string(), "use another --job-dir to train again");
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
  const std::optional<int64_t> steps = steps_in_metrics(storage, directory.metrics());
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
                         steps && is_as_long ? InputPlaces::kMustMatch : InputPlaces::kMayDiffer);
  } catch (const Error& error) {
    throw error.at(directory.root().to_string());
  }
  if (!steps) return std::nullopt;
  if (!is_as_long) {
    require_checkpoint(storage, directory);
    return std::nullopt;
  }
  const EarlierJob earlier(directory.root(), *record);
  require_nothing_new(earlier, settings);
  return FinishedJob{
      .steps = *steps, .has_model = has_model(storage, directory, earlier), .task = earlier.task()};
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

}  // namespace berth
