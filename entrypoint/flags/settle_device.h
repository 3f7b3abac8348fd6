#pragma once

#include "entrypoint/flags/command_line.h"

namespace berth {

// Turns --distribution-strategy, --tpu and --num-gpus into settings.device and device.devices.
// Throws kUsage where they contradict each other, --device or --devices. Looks at no device.
void settle_device(CommandLine& command_line);

}  // namespace berth
