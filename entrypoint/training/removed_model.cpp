#include "entrypoint/training/removed_model.h"

#include <nlohmann/json.hpp>

#include "entrypoint/job/export_checkpoint.h"
#include "entrypoint/job/output_locks.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

// What metrics.json says of the last evaluation, as far as the model's README.md tells it.
std::optional<EvaluationResult> evaluation_of(const Json& metrics) {
  const auto found = metrics.find("eval");
  if (found == metrics.end() || !found->is_object()) return std::nullopt;
  EvaluationResult evaluation;
  for (const auto& [name, value] : found->items()) {
    if (!value.is_number()) continue;
    if (name == "examples") {
      evaluation.examples = value.get<int64_t>();
    } else if (name == "majority_rate") {
      evaluation.scores.majority_rate = value.get<double>();
    } else if (name != "loss") {
      evaluation.scores.metrics[name] = value.get<double>();
    }
  }
  return evaluation;
}

}  // namespace

void write_removed_model(Job& job, const JobDirectory& directory, int64_t steps) {
  log_info(cat("the model of the finished job is not in ", directory.model().to_string(),
               ": writing it again from the checkpoints"));
  const OutputLocks locks(directory, job.fences, job.stop);
  CheckpointStore checkpoints(job.storage, directory.checkpoints(), /*limit=*/0);
  if (job.command_line.settings.training.load_best_model_at_end) {
    steps = checkpoints.preferred_step().value_or(steps);
  }
  const std::optional<EarlierJob> earlier = EarlierJob::find(job.storage, directory.root());
  const Json metrics = parse_json(read_text(job.storage, directory.metrics()).value_or(""));
  CheckpointExport(job, earlier.value())
      .write(checkpoints, steps, directory.model(), evaluation_of(metrics));
}

}  // namespace berth
