#pragma once

#include <filesystem>
#include <string>

#include "entrypoint/flags/command_line.h"

namespace berth {

// The device of a job.
struct DeviceChoice {
  DeviceKind kind = DeviceKind::kCpu;  // never kAuto
  std::filesystem::path plugin{};      // the PJRT plugin that drives it; empty for kCpu
};

// Where to look for devices and plugins.
struct Machine {
  std::filesystem::path root = "/";
  std::filesystem::path program_folder{};
};
Machine this_machine();

// Chooses the device: the one that --device names, or for auto the first of TPU, GPU and CPU that
// is there with its plugin. auto takes the CPU if only CPUs compute what the flags ask for. One
// line of the log names the device, unless it is the CPU and there was nothing to choose. Opens no
// plugin.
//
// Throws kUsage if the named device is not there, if the TPU has several hosts, or if the device
// does not compute the job (device_rules.h). Throws kNotFound if a device's plugin is not there.
DeviceChoice choose_device(const CommandLine& command_line, const Machine& machine);

// Prepares the process for the chosen plugin, before it is opened; see prepare_cuda().
void prepare_device(const DeviceChoice& choice, const CommandLine& command_line);

}  // namespace berth
