#pragma once

#include "entrypoint/flags/command_line.h"

namespace berth {

// Completes `command_line.cluster` by what the platform says, and sets the place of this worker and
// the device in the settings of a training. Modes that neither train nor read a model's output
// ignore the other workers, and so does a run inside a job. Throws kUsage where this worker's
// number is missing or no number of a worker, where the platform gives it another part than to
// train, and where what is asked for is done by one worker alone.
void settle_cluster(CommandLine& command_line, const ClusterPlace& platform);

}  // namespace berth
