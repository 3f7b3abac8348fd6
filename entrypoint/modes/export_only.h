#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode export_only: exports the best checkpoint of --job-dir (or, where its checkpoints are gone,
// its finished model), or --model, and holds --export-dir meanwhile. Throws what run() promises.
void run_export(Job& job);

}  // namespace berth
