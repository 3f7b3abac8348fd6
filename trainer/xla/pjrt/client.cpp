#include "trainer/xla/pjrt/client.h"

#include <pjrt_c_api.h>

#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/xla/pjrt/api.h"
#include "trainer/xla/pjrt/plugin.h"

namespace berth {

// The arguments of PJRT_Client_Create: options for the memory of GPUs. For several hosts, also
// options and callbacks into their store, whose keys begin with "pjrt/". A plugin may call them
// from any of its threads as long as the client lives. Not movable, because the plugin keeps its
// address.
class HostCallbacks {
 public:
  explicit HostCallbacks(const PjrtHosts& hosts, const GpuMemory& memory = {});
  HostCallbacks(const HostCallbacks&) = delete;
  HostCallbacks& operator=(const HostCallbacks&) = delete;

  // Adds no callbacks where there is one host.
  void add_to(PJRT_Client_Create_Args& args);

 private:
  static PJRT_Error* get(PJRT_KeyValueGetCallback_Args* args) noexcept;
  static PJRT_Error* try_get(PJRT_KeyValueTryGetCallback_Args* args) noexcept;
  static PJRT_Error* put(PJRT_KeyValuePutCallback_Args* args) noexcept;

  const PjrtHosts hosts_;
  std::vector<PJRT_NamedValue> options_{};
};

namespace {

std::string key_of(const char* key, size_t size) { return cat("pjrt/", std::string(key, size)); }

PJRT_Error* failure(PJRT_CallbackError* make, PJRT_Error_Code code, std::string_view message) {
  return (*make)(code, message.data(), message.size());
}

PJRT_NamedValue named(std::string_view name, PJRT_NamedValue_Type type) {
  PJRT_NamedValue value = {};
  value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  value.name = name.data();
  value.name_size = name.size();
  value.type = type;
  value.value_size = 1;
  return value;
}

}  // namespace

HostCallbacks::HostCallbacks(const PjrtHosts& hosts, const GpuMemory& memory) : hosts_(hosts) {
  if (memory.preallocates) {
    options_.push_back(named("preallocate", PJRT_NamedValue_kBool));
    options_.back().bool_value = *memory.preallocates;
  }
  if (memory.fraction) {
    options_.push_back(named("memory_fraction", PJRT_NamedValue_kFloat));
    options_.back().float_value = *memory.fraction;
  }
  if (!hosts.are_several() || !hosts.names_nodes) return;
  for (const auto& [name, number] :
       {std::pair("node_id", hosts.rank), std::pair("num_nodes", hosts.size)}) {
    options_.push_back(named(name, PJRT_NamedValue_kInt64));
    options_.back().int64_value = number;
  }
}

void HostCallbacks::add_to(PJRT_Client_Create_Args& args) {
  if (!options_.empty()) {
    args.create_options = options_.data();
    args.num_options = options_.size();
  }
  if (!hosts_.are_several()) return;
  args.kv_get_callback = get;
  args.kv_try_get_callback = try_get;
  args.kv_put_callback = put;
  args.kv_get_user_arg = args.kv_try_get_user_arg = args.kv_put_user_arg = this;
}

// Waits as long as the store does, which is longer than plugins ask for: pods come up minutes
// apart.
PJRT_Error* HostCallbacks::get(PJRT_KeyValueGetCallback_Args* args) noexcept {
  try {
    const auto& self = *static_cast<const HostCallbacks*>(args->user_arg);
    const std::vector<std::byte> value = self.hosts_.store->get(key_of(args->key, args->key_size));
    args->value = new char[value.size()];
    if (!value.empty()) std::memcpy(args->value, value.data(), value.size());
    args->value_size = value.size();
    args->value_deleter_callback = [](char* copy) { delete[] copy; };
    return nullptr;
  } catch (const std::exception& error) {
    return failure(args->callback_error, PJRT_Error_Code_UNAVAILABLE, error.what());
  }
}

// The store can only wait for a key.
PJRT_Error* HostCallbacks::try_get(PJRT_KeyValueTryGetCallback_Args* args) noexcept {
  return failure(args->callback_error, PJRT_Error_Code_UNIMPLEMENTED,
                 "berth's store of keys cannot look for a key without waiting");
}

PJRT_Error* HostCallbacks::put(PJRT_KeyValuePutCallback_Args* args) noexcept {
  try {
    const auto& self = *static_cast<const HostCallbacks*>(args->user_arg);
    self.hosts_.store->set(key_of(args->key, args->key_size),
                           as_bytes(std::string_view(args->value, args->value_size)));
    return nullptr;
  } catch (const std::exception& error) {
    return failure(args->callback_error, PJRT_Error_Code_UNAVAILABLE, error.what());
  }
}

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
