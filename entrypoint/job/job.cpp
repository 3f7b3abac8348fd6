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

}  // namespace berth
