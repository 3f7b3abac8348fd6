#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/dtype.h"
#include "trainer/xla/pjrt/buffer.h"
#include "trainer/xla/pjrt/client_options.h"
#include "trainer/xla/pjrt/plugin.h"

struct PJRT_Device;

namespace berth {

class HostCallbacks;

// One device that this process can use. Lives as long as its client.
struct PjrtDevice {
  int id = 0;        // global: unique over all processes
  std::string kind;  // "cpu", "TPU v5 lite", "NVIDIA H100 80GB HBM3"
  PJRT_Device* handle = nullptr;
};

// The memory of one device, in bytes, as the plugin reports it.
struct PjrtDeviceMemory {
  int64_t in_use = 0;
  std::optional<int64_t> peak_in_use{};
  std::optional<int64_t> limit{};
};

// A plugin at work: its devices, and the buffers and executables on them.
//
// Thread-safe, as PJRT promises. Must be destroyed after all buffers, events and executables that
// were made with it, and before its plugin.
class PjrtClient {
 public:
  // Takes the devices. Throws kUsage where there is none or where it takes longer than `deadline_s`
  // seconds, and kMemory where memory runs out.
  // With several hosts, all of them make their clients at the same time. `memory` is for plugins of
  // GPUs; others refuse it unless it is empty.
  explicit PjrtClient(const PjrtPlugin& plugin, double deadline_s = 60, const PjrtHosts& hosts = {},
                      const GpuMemory& memory = {});

  const PjrtPlugin& plugin() const { return plugin_; }
  // For this folder. Shared, because a compilation that hangs is left behind with its client.
  const std::shared_ptr<PJRT_Client>& handle() const { return client_; }
  const std::string& platform() const { return platform_; }  // "cpu", "tpu", "cuda"
  const std::string& platform_version() const { return platform_version_; }

  // The devices of this process, at least one.
  std::span<const PjrtDevice> devices() const { return devices_; }
  bool is_on_several_hosts() const { return is_on_several_hosts_; }
  // The number of devices of all hosts.
  size_t all_devices() const;
  // The ids of the devices that `replicas` replicas get by default.
  std::vector<int> default_device_ids(int replicas) const;
  // nullopt if the plugin does not report it.
  std::optional<PjrtDeviceMemory> memory_of(const PjrtDevice& device) const;

  // Copies a tensor to a device. `values` are row-major, as many as `dimensions` say; no dimensions
  // make a scalar. bool takes one byte, 0 or 1. `values` may be freed when this returns.
  PjrtBuffer upload(std::span<const std::byte> values, DType dtype,
                    std::span<const int64_t> dimensions, const PjrtDevice& device) const;
  // The same without waiting.
  [[nodiscard]] PjrtUpload start_upload(std::span<const std::byte> values, DType dtype,
                                        std::span<const int64_t> dimensions,
                                        const PjrtDevice& device) const;

 private:
  const PjrtPlugin& plugin_;
  const std::shared_ptr<HostCallbacks> callbacks_;  // of the plugin, until the client is destroyed
  const std::shared_ptr<PJRT_Client> client_;
  const bool is_on_several_hosts_;
  std::string platform_, platform_version_;
  std::vector<PjrtDevice> devices_;
};

}  // namespace berth
