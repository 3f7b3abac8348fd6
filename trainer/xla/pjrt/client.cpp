#include "trainer/xla/pjrt/client.h"

#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "storage/base/error.h"
#include "trainer/xla/pjrt/api.h"
#include "trainer/xla/pjrt/deadline.h"
#include "trainer/xla/pjrt/element_type.h"

namespace berth {
namespace {

std::string text_of(const char* data, size_t size) {
  return data == nullptr ? "" : std::string(data, size);
}

std::string platform_of(const PjrtApi& api, PJRT_Client* client) {
  auto args = PJRT_ARGS(Client_PlatformName);
  args.client = client;
  PJRT_CALL(api, Client_PlatformName, args);
  return text_of(args.platform_name, args.platform_name_size);
}

std::string platform_version_of(const PjrtApi& api, PJRT_Client* client) {
  auto args = PJRT_ARGS(Client_PlatformVersion);
  args.client = client;
  PJRT_CALL(api, Client_PlatformVersion, args);
  return text_of(args.platform_version, args.platform_version_size);
}

PjrtDevice describe(const PjrtApi& api, PJRT_Device* device) {
  auto description = PJRT_ARGS(Device_GetDescription);
  description.device = device;
  PJRT_CALL(api, Device_GetDescription, description);
  auto id = PJRT_ARGS(DeviceDescription_Id);
  id.device_description = description.device_description;
  PJRT_CALL(api, DeviceDescription_Id, id);
  auto kind = PJRT_ARGS(DeviceDescription_Kind);
  kind.device_description = description.device_description;
  PJRT_CALL(api, DeviceDescription_Kind, kind);
  return {id.id, text_of(kind.device_kind, kind.device_kind_size), device};
}

void destroy_client(const PjrtApi& api, PJRT_Client* client) noexcept {
  auto args = PJRT_ARGS(Client_Destroy);
  args.client = client;
  PJRT_DESTROY(api, Client_Destroy, args);
}

PJRT_Client* create(const PjrtApi& api, const std::vector<PjrtNamedValue>& options) {
  const std::vector<PJRT_NamedValue> values = for_plugin(options);
  auto args = PJRT_ARGS(Client_Create);
  args.create_options = values.data();
  args.num_options = values.size();
  PJRT_CALL(api, Client_Create, args);
  return args.client;
}

std::string options_text(const std::vector<PjrtNamedValue>& options) {
  std::string text;
  for (const PjrtNamedValue& option : options) text += (text.empty() ? "" : ", ") + to_text(option);
  return text.empty() ? "without options" : "with " + text;
}

PJRT_Client* create_within(double deadline_s, const PjrtApi& api,
                           const std::vector<PjrtNamedValue>& options) {
  // A thread that has to be left behind may outlive the plugin, so it has copies and shares
  // `created`.
  const auto created = std::make_shared<PJRT_Client*>(nullptr);
  try {
    run_within(
        deadline_s, [api, created, options] { *created = create(api, options); },
        [&] {
          std::ostringstream text;
          text << "found no devices within " << deadline_s << " s";
          throw Error(Code::kUsage, text.str(), api.plugin(),
                      "check that this machine has its device, or raise the limit");
        });
  } catch (const Error& error) {
    if (error.code() == Code::kMemory || error.code() == Code::kUnavailable) throw;
    // The plugin's reasons, such as a missing driver, are for the user to act on.
    throw Error(Code::kUsage, error.problem(), error.where(),
                error.hint().empty() ? "check the device, its driver and the options (this was " +
                                           options_text(options) + ")"
                                     : error.hint());
  }
  return *created;
}

}  // namespace

PjrtClient::PjrtClient(const PjrtPlugin& plugin, const std::vector<PjrtNamedValue>& options,
                       double deadline_s)
    : plugin_(plugin), client_(create_within(deadline_s, plugin.api(), options)) {
  try {
    platform_ = platform_of(api(), client_);
    platform_version_ = platform_version_of(api(), client_);
    read_devices();
  } catch (...) {
    destroy_client(api(), client_);
    throw;
  }
}

PjrtClient::~PjrtClient() { destroy_client(api(), client_); }

void PjrtClient::read_devices() {
  auto args = PJRT_ARGS(Client_AddressableDevices);
  args.client = client_;
  PJRT_CALL(api(), Client_AddressableDevices, args);
  for (size_t i = 0; i < args.num_addressable_devices; ++i) {
    devices_.push_back(describe(api(), args.addressable_devices[i]));
  }
  if (!devices_.empty()) return;
  throw Error(Code::kUsage, "the plugin has no device that this process can use", api().plugin(),
              "check that this machine has its device and that no other process uses it");
}

std::vector<int> PjrtClient::default_device_ids(int replicas) const {
  std::vector<int> ids(static_cast<size_t>(replicas));
  auto args = PJRT_ARGS(Client_DefaultDeviceAssignment);
  args.client = client_;
  args.num_replicas = replicas;
  args.num_partitions = 1;
  args.default_assignment_size = ids.size();
  args.default_assignment = ids.data();
  PJRT_CALL(api(), Client_DefaultDeviceAssignment, args);
  return ids;
}

std::optional<PjrtDeviceMemory> PjrtClient::memory_of(const PjrtDevice& device) const {
  if (!api().has(&PJRT_Api::PJRT_Device_MemoryStats)) return std::nullopt;
  auto args = PJRT_ARGS(Device_MemoryStats);
  args.device = device.handle;
  try {
    PJRT_CALL(api(), Device_MemoryStats, args);
  } catch (const Error&) {
    return std::nullopt;  // CPU plugins have the function, and it fails
  }
  PjrtDeviceMemory memory{.in_use = args.bytes_in_use};
  if (args.peak_bytes_in_use_is_set) memory.peak_in_use = args.peak_bytes_in_use;
  if (args.bytes_limit_is_set) memory.limit = args.bytes_limit;
  return memory;
}

PjrtUpload PjrtClient::upload_with(int semantics, std::span<const std::byte> values, DType dtype,
                                   std::span<const int64_t> dimensions,
                                   const PjrtDevice& device) const {
  size_t bytes = size_of(dtype);
  for (const int64_t dimension : dimensions) bytes *= static_cast<size_t>(dimension);
  if (bytes != values.size()) {
    throw Error(Code::kInternal,
                "a tensor of " + std::to_string(bytes) + " bytes was to be made of " +
                    std::to_string(values.size()),
                api().plugin());
  }
  auto args = PJRT_ARGS(Client_BufferFromHostBuffer);
  args.client = client_;
  args.data = values.data();
  args.type = element_type_of(dtype);
  args.dims = dimensions.data();
  args.num_dims = dimensions.size();
  args.host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(semantics);
  args.device = device.handle;
  PJRT_CALL(api(), Client_BufferFromHostBuffer, args);
  PjrtBuffer buffer(api(), args.buffer);
  return {std::move(buffer), PjrtEvent(api(), args.done_with_host_buffer)};
}

PjrtBuffer PjrtClient::upload(std::span<const std::byte> values, DType dtype,
                              std::span<const int64_t> dimensions, const PjrtDevice& device) const {
  PjrtUpload upload = upload_with(PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, values, dtype,
                                  dimensions, device);
  upload.host_done.await();  // done already, but a failure of the copy is told here
  return std::move(upload.buffer);
}

PjrtUpload PjrtClient::start_upload(std::span<const std::byte> values, DType dtype,
                                    std::span<const int64_t> dimensions,
                                    const PjrtDevice& device) const {
  return upload_with(PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes, values, dtype,
                     dimensions, device);
}

}  // namespace berth
