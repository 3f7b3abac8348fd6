#include "entrypoint/job/job.h"

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <vector>

#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/platform/accelerators.h"
#include "entrypoint/platform/program_files.h"
#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "storage/whole_file.h"
#include "trainer/cpu/cpu_device.h"
#include "trainer/xla/xla_device.h"

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

Job Job::with(const CommandLine& other) const {
  return {.command_line = other,
          .device = device,
          .storage = storage,
          .fences = fences,
          .output = output,
          .progress = progress,
          .stop = stop,
          .since_stop = since_stop,
          .saves_on_stop = saves_on_stop,
          .end_process = end_process,
          .ranks = ranks,
          .hosts = hosts,
          .without_bf16 = without_bf16};
}

void Job::stop_point() const {
  if (stop) {
    throw Error(Code::kStopped, "a signal stopped the job", "",
                "start it again with the same command");
  }
}

int compute_threads(const Settings& settings) {
  return settings.threads > 0 ? static_cast<int>(settings.threads) : available_threads();
}

namespace {

// What --precision auto became, and why. `without_bf16` is the worker that has none.
void log_precision(bool is_bf16, const std::optional<int64_t>& without_bf16, std::string why) {
  if (without_bf16) why = cat("because worker ", *without_bf16, " does not multiply bf16");
  log_info(cat("precision: matrix products use ", is_bf16 ? "bf16, " : "fp32, ", why));
}

std::unique_ptr<Device> make_cpu(const Job& job) {
  const Precision asked = job.command_line.settings.precision;
  const std::optional<int64_t>& without_bf16 = job.without_bf16.device;
  const bool is_auto = asked == Precision::kAuto;
  std::unique_ptr<Device> device =
      make_host_device(job, is_auto && without_bf16 ? Precision::kFp32 : asked);
  if (is_auto) {
    const bool is_bf16 = device->info().precision == Precision::kBf16;
    log_precision(is_bf16, without_bf16,
                  is_bf16 ? "because this CPU multiplies it"
                          : "because this CPU does not multiply bf16 (AMX, AVX512_BF16)");
  }
  return device;
}

// Compiled programs are kept in --cache-dir and never in the job directory: loading one runs it,
// and a job directory may come from somebody else, as a model does.
std::string executables_in(const std::string& cache_dir) {
  return cache_dir.empty() ? "" : (std::filesystem::path(cache_dir) / "executables").string();
}

std::unique_ptr<Device> make_xla(const Job& job) {
  const CommandLine& command_line = job.command_line;
  const DeviceKind kind = job.device.kind;
  const bool on_cpu = kind == DeviceKind::kXlaCpu;
  const Precision precision = command_line.settings.precision;
  const bool is_auto = precision == Precision::kAuto;
  const std::optional<int64_t> without_bf16 = on_cpu ? std::nullopt : job.without_bf16.device;
  const bool rounds = is_auto ? !on_cpu && !without_bf16 : precision == Precision::kBf16;
  if (is_auto) {
    log_precision(rounds, without_bf16,
                  on_cpu ? "as always with --device xla-cpu" : "as on every TPU and GPU");
  }
  XlaDeviceOptions options;
  options.plugin_path = job.device.plugin.string();
  options.platform = on_cpu ? "cpu" : kind == DeviceKind::kTpu ? "tpu" : "cuda";
  options.product_dtype = rounds ? DType::kBF16 : DType::kF32;
  options.devices = command_line.device.devices;
  if (options.devices == 0 && on_cpu && !job.hosts.are_several()) {
    options.devices = 1;  // the plugin's four are the same CPUs
  }
  options.generator = command_line.device.generator;
  options.hosts = job.hosts;
  options.hosts.names_nodes = kind == DeviceKind::kGpu;
  options.cache_directory = executables_in(command_line.storage.cache_dir);
  const AcceleratorEnvironment& environment = command_line.device.environment;
  if (kind == DeviceKind::kGpu) options.gpu_memory = gpu_memory_of(environment);
  options.compiler_environment = cat(environment.xla_flags, "\n", environment.tpu_flags);
  return make_xla_device(options);
}

}  // namespace

bool host_multiplies_bf16(const Job& job) {
  return multiplies_bf16(job.command_line.highest_instruction_set);
}

Precision host_precision(const Job& job) {
  const Precision precision = job.command_line.settings.precision;
  const bool is_bf16 = precision == Precision::kBf16;
  return is_bf16 && job.device.kind != DeviceKind::kCpu ? Precision::kAuto : precision;
}

std::unique_ptr<Device> make_host_device(const Job& job, Precision precision) {
  return make_cpu_device(compute_threads(job.command_line.settings),
                         job.command_line.highest_instruction_set, precision);
}

std::unique_ptr<Device> make_device(const Job& job) {
  return job.device.kind == DeviceKind::kCpu ? make_cpu(job) : make_xla(job);
}

void store_results(const Job& job, const Uri& uri, const std::function<void(ByteSink&)>& fill) {
  if (job.ranks == nullptr) {
    store_object(job.storage, uri, fill);
  } else {
    store_object_once(job.storage, uri, fill);
  }
}

void require_same_on_workers(Communicator& ranks, const std::string& own) {
  const std::vector<std::vector<std::byte>> all = gather_bytes(ranks, as_bytes(own));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (as_text(all[rank]) == own) continue;
    throw Error(Code::kIncompatible,
                cat("worker ", rank, " has read other files than worker ", ranks.rank()), "",
                "give all workers the same files, and leave them alone while the job runs");
  }
}

}  // namespace berth
