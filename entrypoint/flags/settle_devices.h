#pragma once

#include "entrypoint/flags/command_line.h"

namespace berth {

// Turns --distribution-strategy, --tpu and --num-gpus into settings.device and device.devices.
// Throws kUsage where they contradict each other, --device or --devices. Looks at no device.
void settle_device(CommandLine& command_line);

// Completes `command_line.cluster` by what the platform says, and sets the place of this worker and
// the device in the settings. Modes that neither train nor run a model over rows ignore the other
// workers, and so does a run inside a job.
//
// Throws kUsage in four cases. This worker's number is missing, or no number of a worker. Nothing
// says how to find worker 0. The platform gives this process another part than a worker's. Only one
// worker can do the job.
void settle_cluster(CommandLine& command_line, const ClusterPlace& platform);

}  // namespace berth
