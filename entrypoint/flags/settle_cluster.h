#pragma once

#include "entrypoint/flags/command_line.h"

namespace berth {

// Completes `command_line.cluster` from the platform's settings, and sets the place of this worker
// and the device in the settings. Modes that neither train nor run a model over rows ignore the
// other workers, and so does a run inside a job. Throws kUsage if this worker's number is missing
// or is not the number of a worker, or if nothing says how to find worker 0. Also throws it if the
// platform gives this process another role than a worker's. Also throws it if the mode or a flag
// works only with one worker.
void settle_cluster(CommandLine& command_line, const ClusterPlace& platform);

}  // namespace berth
