#include "entrypoint/job/device_choice.h"

#include <system_error>
#include <vector>

#include "entrypoint/flags/device_rules.h"
#include "entrypoint/platform/accelerators.h"
#include "entrypoint/platform/cuda_libraries.h"
#include "entrypoint/platform/plugin_places.h"
#include "entrypoint/platform/program_folder.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

std::string name_of(DeviceKind kind) {
  if (kind == DeviceKind::kTpu) return "TPU";
  return kind == DeviceKind::kGpu ? "GPU" : "CPU";
}

Presence presence_of(DeviceKind kind, const CommandLine& command_line, const Machine& machine) {
  if (kind == DeviceKind::kTpu) return find_tpu(machine.root, command_line.device.environment);
  return kind == DeviceKind::kGpu ? find_gpu(machine.root) : Presence{.is_there = true};
}

// The plugin that --pjrt-plugin names, or the one that is found; empty if none is. `looked_at`
// receives the places.
fs::path plugin_of(DeviceKind kind, const CommandLine& command_line, const Machine& machine,
                   std::string& looked_at) {
  const DeviceOptions& options = command_line.device;
  if (!options.plugin.empty()) {
    std::error_code unreadable;
    if (fs::is_regular_file(options.plugin, unreadable)) return options.plugin;
    throw Error(Code::kNotFound, "there is no such file", cat("--pjrt-plugin: ", options.plugin),
                "name the shared library of a PJRT plugin");
  }
  const std::vector<fs::path> places =
      plugin_places(kind, options.environment, machine.program_folder, machine.root);
  for (const fs::path& place : places) {
    looked_at += cat(looked_at.empty() ? "" : ", ", place.string());
  }
  return first_existing(places);
}

DeviceChoice chosen(DeviceKind kind, const fs::path& plugin, const CommandLine& command_line) {
  if (kind == DeviceKind::kTpu) {
    require_worker_on_each_host(command_line.device.environment,
                                command_line.cluster.size.value_or(1));
  }
  log_info(cat("device: ", name_of(kind), ", driven by ", plugin.string()));
  return {.kind = kind, .plugin = plugin};
}

DeviceChoice named_device(const CommandLine& command_line, const Machine& machine) {
  const DeviceKind kind = command_line.settings.device;
  const Presence presence = presence_of(kind, command_line, machine);
  if (!presence.is_there) {
    throw Error(Code::kUsage, presence.problem, "", presence.hint);
  }
  std::string looked_at;
  const fs::path plugin = plugin_of(kind, command_line, machine, looked_at);
  if (!plugin.empty()) return chosen(kind, plugin, command_line);
  throw Error(Code::kNotFound,
              cat("there is no PJRT plugin for a ", name_of(kind), " in ", looked_at), "",
              "install one with scripts/install-device-plugin.sh, or name it with --pjrt-plugin");
}

DeviceChoice best_device(const CommandLine& command_line, const Machine& machine) {
  const bool names_plugin = !command_line.device.plugin.empty();
  const std::string needs = names_plugin ? "" : needs_cpu(command_line);
  std::string passed_over;
  for (const DeviceKind kind : {DeviceKind::kTpu, DeviceKind::kGpu}) {
    if (!presence_of(kind, command_line, machine).is_there) continue;
    if (!needs.empty()) {
      log_info(cat("device: CPU, although this machine has a ", name_of(kind), ", because ", needs,
                   " is computed on CPUs only"));
      return {};
    }
    std::string looked_at;
    const fs::path plugin = plugin_of(kind, command_line, machine, looked_at);
    if (!plugin.empty()) return chosen(kind, plugin, command_line);
    passed_over = cat("the CPU computes, although this machine has a ", name_of(kind),
                      ", because there is no PJRT plugin for it in ", looked_at);
  }
  if (names_plugin) {
    throw Error(Code::kUsage, "this machine has no TPU and no GPU that the plugin could drive",
                "--pjrt-plugin", "leave it out, or use --device xla-cpu with a plugin for CPUs");
  }
  if (!passed_over.empty()) log_warning(passed_over);
  return {};
}

DeviceChoice any_device(const CommandLine& command_line, const Machine& machine) {
  switch (command_line.settings.device) {
    case DeviceKind::kAuto:
      return best_device(command_line, machine);
    case DeviceKind::kCpu:
      return {};
    case DeviceKind::kTpu:
    case DeviceKind::kGpu:
    case DeviceKind::kXlaCpu:
      return named_device(command_line, machine);
  }
  return {};
}

}  // namespace

Machine this_machine() { return {.program_folder = program_folder()}; }

DeviceChoice choose_device(const CommandLine& command_line, const Machine& machine) {
  DeviceChoice choice = any_device(command_line, machine);
  require_device(command_line, choice.kind);
  return choice;
}

void prepare_device(const DeviceChoice& choice, const CommandLine& command_line) {
  if (choice.kind != DeviceKind::kGpu) return;
  prepare_cuda(choice.plugin, command_line.device.environment.xla_flags);
}

}  // namespace berth
