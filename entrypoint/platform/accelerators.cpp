#include "entrypoint/platform/accelerators.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <system_error>

#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

// Whether `folder` has an entry that is named `prefix` and a number.
bool has_numbered(const fs::path& folder, std::string_view prefix) {
  std::error_code unreadable;
  const fs::directory_iterator entries(folder, unreadable), end;
  return std::any_of(entries, end, [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename();
    return name.size() > prefix.size() && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  });
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Presence find_tpu(const fs::path& root, const AcceleratorEnvironment& environment) {
  if (!has_numbered(root / "dev", "accel") && !has_numbered(root / "dev/vfio", "")) {
    return {.problem = "this machine has no TPU: neither /dev/accel0 nor /dev/vfio/0 exists",
            .hint = "run on a TPU VM, or in a pod with a limit of google.com/tpu"};
  }
  const std::string product = first_line(root / "sys/devices/virtual/dmi/id/product_name");
  if (product == "Google Compute Engine" || environment.skips_metadata) return {.is_there = true};
  return {.problem = cat("libtpu works on Google Compute Engine only, and this machine is ",
                         product.empty() ? "unknown" : quoted(product)),
          .hint = "if this is a TPU VM, set TPU_SKIP_MDS_QUERY=1"};
}

Presence find_gpu(const fs::path& root) {
  if (is_there(root / "dev/nvidiactl") || is_there(root / "dev/nvidia0")) return {.is_there = true};
  if (is_there(root / "proc/driver/nvidia/version")) {
    return {.problem = "NVIDIA's driver is loaded, but this process was given no GPU",
            .hint =
                "start the container with docker run --gpus all, or with a limit of "
                "nvidia.com/gpu"};
  }
  return {.problem = "this machine has no NVIDIA GPU, or not its driver: /dev/nvidiactl is missing",
          .hint = "install the driver, or run on a machine with a GPU"};
}

void require_worker_on_each_host(const AcceleratorEnvironment& environment, int64_t workers) {
  const std::string& hosts = environment.tpu_hosts;
  const auto count = std::count(hosts.begin(), hosts.end(), ',') + 1;
  if (hosts.empty() || count == workers) return;
  throw Error(Code::kUsage,
              cat("this TPU is a slice of ", counted(count, "host"), ", and the job has ",
                  counted(workers, "worker")),
              "TPU_WORKER_HOSTNAMES",
              cat("use a slice of one host, such as v5litepod-8 or the topology 2x4, or start a "
                  "worker on each host with --world-size ",
                  count, " and --rank $TPU_WORKER_ID, which is experimental"));
}

GpuMemory gpu_memory_of(const AcceleratorEnvironment& environment) {
  GpuMemory memory;
  if (const std::string value = lower_ascii(environment.gpu_preallocates); !value.empty()) {
    memory.preallocates = value == "true" || value == "1";
    if (!*memory.preallocates && value != "false" && value != "0") {
      throw Error(Code::kUsage, cat(quoted(value), " is neither true nor false"),
                  "XLA_PYTHON_CLIENT_PREALLOCATE");
    }
  }
  if (const std::string& value = environment.gpu_fraction; !value.empty()) {
    float share = 0;
    const char* const end = value.data() + value.size();
    const auto [stop, failure] = std::from_chars(value.data(), end, share);
    if (failure != std::errc() || stop != end || !(share > 0 && share <= 1)) {
      throw Error(Code::kUsage, cat(quoted(value), " is no share of a GPU's memory"),
                  "XLA_PYTHON_CLIENT_MEM_FRACTION", "give a number above 0 and at most 1");
    }
    memory.fraction = share;
  }
  return memory;
}

}  // namespace berth
