#include "entrypoint/job/job.h"

#include <filesystem>

#include "entrypoint/platform/accelerators.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "trainer/cpu/cpu_device.h"
#include "trainer/xla/xla_device.h"

namespace berth {

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
          .hosts = hosts};
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

std::unique_ptr<Device> make_cpu(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  std::unique_ptr<Device> device = make_cpu_device(
      compute_threads(settings), command_line.forced_instruction_set, settings.precision);
  if (settings.precision == Precision::kAuto) {
    log_info(device->info().precision == Precision::kBf16
                 ? "precision: matrix products use bf16, because this CPU multiplies it"
                 : "precision: matrix products use fp32, because this CPU does not multiply bf16");
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
  const bool rounds = precision == Precision::kAuto ? !on_cpu : precision == Precision::kBf16;
  if (precision == Precision::kAuto) {
    log_info(rounds ? "precision: matrix products use bf16, as on every TPU and GPU"
                    : "precision: matrix products use fp32, as always with --device xla-cpu");
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

std::unique_ptr<Device> make_host_device(const Job& job, Precision precision) {
  return make_cpu_device(compute_threads(job.command_line.settings),
                         job.command_line.forced_instruction_set, precision);
}

std::unique_ptr<Device> make_device(const Job& job) {
  return job.device.kind == DeviceKind::kCpu ? make_cpu(job.command_line) : make_xla(job);
}

}  // namespace berth
