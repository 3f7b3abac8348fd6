#include "entrypoint/training/removed_model.h"

#include <nlohmann/json.hpp>

#include "entrypoint/job/export_checkpoint.h"
#include "entrypoint/job/output_locks.h"
#include "entrypoint/training/finished_job.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"

namespace berth {
std::optional<EvaluationResult> evaluation_of(const OrderedJson& metrics) {
  const auto found = metrics.find("eval");
  if (found == metrics.end() || !found->is_object()) return std::nullopt;
  EvaluationResult evaluation;
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

void write_removed_model(Job& job, const JobDirectory& directory, int64_t steps) {
  log_info(cat("the model of the finished job is not complete in ", directory.model().to_string(),
               ": writing it again from the checkpoints"));
  const OutputLocks locks(directory, job.fences, job.stop);
  CheckpointStore checkpoints(job.storage, directory.checkpoints(), /*limit=*/0);
  if (job.command_line.settings.training.load_best_model_at_end) {
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
