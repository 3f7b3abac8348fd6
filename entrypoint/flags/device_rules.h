#pragma once

#include <optional>
#include <string>

#include "entrypoint/flags/command_line.h"
#include "trainer/model/task.h"

namespace berth {

// THE table of what runs on which device: the CPU's own kernels, or TPUs, GPUs and xla-cpu. The
// refusals below, the choice of --device auto and the table of docs/devices.md come from it.

// Throws kUsage if the job asks for something that `kind` does not compute. kAuto computes
// everything. `task` is the job's task as the rows or the model give it; by default it is the
// task that --task names.
void require_device(const CommandLine& command_line, DeviceKind kind,
                    std::optional<Task> task = {});

// What the job asks for that only the CPU computes, so that --device auto takes the CPU:
// "--task similarity". Empty: there is nothing of the kind.
std::string needs_cpu(const CommandLine& command_line);

// The table for docs/devices.md.
std::string devices_markdown();

}  // namespace berth
