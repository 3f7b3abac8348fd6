#include "trainer/xla/pjrt/client.h"

#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/xla/pjrt/api.h"
#include "trainer/xla/pjrt/host_callbacks.h"
#include "trainer/xla/pjrt/plugin.h"

namespace berth {
namespace {

std::string text_of(const char* data, size_t size) {
  return data == nullptr ? "" : std::string(data, size);
}

PjrtDevice describe(const PjrtPlugin& plugin, PJRT_Device* device) {
  PJRT_DeviceDescription* const description =
      PJRT_CALL(plugin, Device_GetDescription, args.device = device).device_description;
  const auto id = PJRT_CALL(plugin, DeviceDescription_Id, args.device_description = description);
  const auto kind =
      PJRT_CALL(plugin, DeviceDescription_Kind, args.device_description = description);
  return {id.id, text_of(kind.device_kind, kind.device_kind_size), device};
}

PjrtOwned<PJRT_Client> create_within(double deadline_s, const PjrtPlugin& plugin,
                                     std::shared_ptr<HostCallbacks> callbacks) {
  // The plugin is copied, because a thread that has to be left behind may outlive it.
  const auto create = [plugin, callbacks] {
    return plugin.own(PJRT_CALL(plugin, Client_Create, callbacks->add_to(args)).client);
  };
  const Error late(Code::kUsage, cat("found no devices within ", deadline_s, " s"), plugin.path(),
                   kDeviceHint);
  try {
    return run_within<PjrtOwned<PJRT_Client>>(deadline_s, create, late);
  } catch (const Error& error) {
    if (error.code() == Code::kMemory || error.code() == Code::kUnavailable) throw;
    // The plugin's reasons, such as a missing driver, are for the user to act on.
    throw Error(Code::kUsage, error.problem(), error.where(),
                error.hint().empty() ? "check the device and its driver" : error.hint());
  }
}

}  // namespace

PjrtClient::PjrtClient(const PjrtPlugin& plugin, double deadline_s, const PjrtHosts& hosts,
                       const GpuMemory& memory)
    : plugin_(plugin),
      callbacks_(std::make_shared<HostCallbacks>(hosts, memory)),
      client_(create_within(deadline_s, plugin, callbacks_)),
      is_on_several_hosts_(hosts.are_several()) {
  PJRT_Client* const client = client_.get();
  const auto name = PJRT_CALL(plugin_, Client_PlatformName, args.client = client);
  platform_ = text_of(name.platform_name, name.platform_name_size);
  const auto version = PJRT_CALL(plugin_, Client_PlatformVersion, args.client = client);
  platform_version_ = text_of(version.platform_version, version.platform_version_size);
  const auto devices = PJRT_CALL(plugin_, Client_AddressableDevices, args.client = client);
  for (size_t i = 0; i < devices.num_addressable_devices; ++i) {
    devices_.push_back(describe(plugin_, devices.addressable_devices[i]));
  }
  if (!devices_.empty()) return;
  throw Error(Code::kUsage, "the plugin has no device that this process can use", plugin_.path(),
              kDeviceHint);
}

size_t PjrtClient::all_devices() const {
  return PJRT_CALL(plugin_, Client_Devices, args.client = client_.get()).num_devices;
}

std::vector<int> PjrtClient::default_device_ids(int replicas) const {
  std::vector<int> ids(static_cast<size_t>(replicas));
  auto assignment = PJRT_ARGS(Client_DefaultDeviceAssignment);
  assignment.client = client_.get();
  assignment.num_replicas = replicas;
  assignment.num_partitions = 1;
  assignment.default_assignment_size = ids.size();
  assignment.default_assignment = ids.data();
  PJRT_CALL(plugin_, Client_DefaultDeviceAssignment, args = assignment);
  return ids;
}

std::optional<PjrtDeviceMemory> PjrtClient::memory_of(const PjrtDevice& device) const {
  try {
    const auto answer = PJRT_CALL(plugin_, Device_MemoryStats, args.device = device.handle);
    PjrtDeviceMemory memory{.in_use = answer.bytes_in_use};
    if (answer.peak_bytes_in_use_is_set) memory.peak_in_use = answer.peak_bytes_in_use;
    if (answer.bytes_limit_is_set) memory.limit = answer.bytes_limit;
    return memory;
  } catch (const Error&) {
    return std::nullopt;  // older plugins lack the function; CPU plugins have it, and it fails
  }
}

PjrtUpload PjrtClient::start_upload(std::span<const std::byte> values, DType dtype,
                                    std::span<const int64_t> dimensions,
                                    const PjrtDevice& device) const {
  size_t bytes = size_of(dtype);
  for (const int64_t dimension : dimensions) bytes *= static_cast<size_t>(dimension);
  if (bytes != values.size()) {
    throw Error(Code::kInternal,
                cat("a tensor of ", bytes, " bytes was to be made of ", values.size()),
                plugin_.path());
  }
  auto copy = PJRT_ARGS(Client_BufferFromHostBuffer);
  copy.client = client_.get();
  copy.data = values.data();
  copy.type = element_type_of(dtype);
  copy.dims = dimensions.data();
  copy.num_dims = dimensions.size();
  copy.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
  copy.device = device.handle;
  copy = PJRT_CALL(plugin_, Client_BufferFromHostBuffer, args = copy);
  return {PjrtBuffer(plugin_, copy.buffer), PjrtEvent(plugin_, copy.done_with_host_buffer)};
}

PjrtBuffer PjrtClient::upload(std::span<const std::byte> values, DType dtype,
                              std::span<const int64_t> dimensions, const PjrtDevice& device) const {
  PjrtUpload upload = start_upload(values, dtype, dimensions, device);
  upload.host_done.await();
  return std::move(upload.buffer);
}

}  // namespace berth
