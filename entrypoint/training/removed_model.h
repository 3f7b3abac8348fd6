#pragma once

#include <cstdint>

#include "entrypoint/job/job.h"
#include "trainer/loop/job_directory.h"

namespace berth {

// Writes the model of a finished job of `steps` updates again, which was removed: that of its last
// checkpoint or, with --load-best-model-at-end, of the best one. Rows are not read and no teacher
// is asked. metrics.json stays as it is. Throws kNotFound where that checkpoint is not there,
// kInUse where another process holds the directory, and what CheckpointExport throws.
void write_removed_model(Job& job, const JobDirectory& directory, int64_t steps);

}  // namespace berth
