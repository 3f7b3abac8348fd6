#pragma once

#include <cstdint>
#include <optional>

#include "entrypoint/job/job.h"
#include "storage/base/json.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/job_directory.h"

namespace berth {

// The result of the last evaluation in metrics.json: the part that the model's README.md shows.
std::optional<EvaluationResult> evaluation_of(const OrderedJson& metrics);

// Writes the model of a finished job of `steps` updates again, which was removed or has lost bytes.
// It comes from the last checkpoint or, with --load-best-model-at-end, from the best one. It reads
// no rows and runs no teacher. metrics.json stays unchanged, except for the sizes of the files.
// Throws kNotFound where that checkpoint is not there, kInUse where another process holds the
// directory, and what CheckpointExport throws.
void write_removed_model(Job& job, const JobDirectory& directory, int64_t steps);

}  // namespace berth
