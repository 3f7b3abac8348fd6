#include "tests/trainer/xla/pjrt/fake_plugin.h"

#include <sstream>

#include "tests/trainer/xla/pjrt/fake_objects.h"

// A PJRT plugin for tests, as a shared library. Its programs are StableHLO modules, of which it
// heeds only the signature of @main: every output is zeros, and parameters are donated that say so.
// Or they are words:
//
//   "copy"              every output is a copy of the argument at its place
//   "donate"            the same, but the arguments are deleted
//   "... outputs=N"     N outputs, 1 without it
//   "... replicas=N"    runs on the first N devices, 1 without it
//
// It counts what is created and destroyed, and fails or hangs where the control says so.

void fake_Error_Destroy(PJRT_Error_Destroy_Args* args) {
  destroyed("error", args->error);
  const std::lock_guard lock(control.lock);
  ++control.destroyed_errors;
}
void fake_Error_Message(PJRT_Error_Message_Args* args) {
  args->message = args->error->message.data();
  args->message_size = args->error->message.size();
}
FAKE(Error_GetCode) {
  args->code = args->error->code;
  return nullptr;
}

FAKE(Plugin_Initialize) { return nullptr; }

FAKE(Event_Destroy) {
  destroyed("event", args->event);
  return nullptr;
}
FAKE(Event_Await) { return args->event->fails ? make_error() : nullptr; }

// Puts a value into the store of the hosts and asks for it, and for one that the store refuses.
static void ask_hosts(const PJRT_Client_Create_Args& args) {
  std::vector<std::string> told;
  for (size_t i = 0; i < args.num_options; ++i) {
    const PJRT_NamedValue& option = args.create_options[i];
    std::ostringstream value;
    value << std::string(option.name, option.name_size) << ' ' << std::boolalpha;
    if (option.type == PJRT_NamedValue_kBool) value << option.bool_value;
    if (option.type == PJRT_NamedValue_kFloat) value << option.float_value;
    if (option.type == PJRT_NamedValue_kInt64) value << option.int64_value;
    told.push_back(value.str());
  }
  if (args.kv_put_callback != nullptr) {
    PJRT_CallbackError refuse = [](PJRT_Error_Code code, const char* message, size_t size) {
      return created("error", new PJRT_Error{code, std::string(message, size)});
    };
    PJRT_KeyValuePutCallback_Args put = {};
    put.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE;
    put.key = "topology";
    put.key_size = 8;
    put.value = "two";
    put.value_size = 3;
    put.callback_error = &refuse;
    put.user_arg = args.kv_put_user_arg;
    args.kv_put_callback(&put);
    for (const std::string key : {"topology", "refused"}) {
      PJRT_KeyValueGetCallback_Args get = {};
      get.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE;
      get.key = key.data();
      get.key_size = key.size();
      get.callback_error = &refuse;
      get.user_arg = args.kv_get_user_arg;
      if (PJRT_Error* error = args.kv_get_callback(&get)) {
        told.push_back(error->message);
        destroyed("error", error);
        continue;
      }
      told.emplace_back(get.value, get.value_size);
      get.value_deleter_callback(get.value);
    }
  }
  const std::lock_guard lock(control.lock);
  control.hosts = told;
}
FAKE(Client_Create) {
  auto* client = new PJRT_Client;
  {
    const std::lock_guard lock(control.lock);
    for (size_t i = 0; i < control.other_devices + control.devices; ++i) {
      client->devices.push_back({{static_cast<int>(10 + i)}});
    }
  }
  for (PJRT_Device& device : client->devices) client->all_pointers.push_back(&device);
  client->pointers.assign(client->all_pointers.end() - static_cast<std::ptrdiff_t>(control.devices),
                          client->all_pointers.end());
  ask_hosts(*args);
  args->client = created("client", client);
  return nullptr;
}
FAKE(Client_Destroy) {
  destroyed("client", args->client);
  return nullptr;
}
FAKE(Client_PlatformName) {
  args->platform_name = "fake!";  // the sizes count, not a final zero
  args->platform_name_size = 4;
  return nullptr;
}
FAKE(Client_PlatformVersion) {
  args->platform_version = "v7!";
  args->platform_version_size = 2;
  return nullptr;
}
FAKE(Client_AddressableDevices) {
  args->addressable_devices = args->client->pointers.data();
  args->num_addressable_devices = args->client->pointers.size();
  return nullptr;
}
FAKE(Client_Devices) {
  args->devices = args->client->all_pointers.data();
  args->num_devices = args->client->all_pointers.size();
  return nullptr;
}
FAKE(Client_DefaultDeviceAssignment) {
  for (int i = 0; i < args->num_replicas; ++i) args->default_assignment[i] = 10 + i;
  return nullptr;
}
FAKE(Device_GetDescription) {
  args->device_description = &args->device->description;
  return nullptr;
}
FAKE(DeviceDescription_Id) {
  args->id = args->device_description->id;
  return nullptr;
}
FAKE(DeviceDescription_Kind) {
  args->device_kind = "abacus!";
  args->device_kind_size = 6;
  return nullptr;
}
FAKE(Device_MemoryStats) {
  const auto device = static_cast<size_t>(args->device->description.id - 10);
  args->bytes_in_use = control.bytes_in_use[device];
  args->bytes_limit = control.bytes_limit;
  args->bytes_limit_is_set = control.bytes_limit > 0;
  return nullptr;
}

extern "C" {

__attribute__((visibility("default"))) FakePluginControl* fake_plugin_control() { return &control; }

__attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static PJRT_Api table;
  table = {};
  table.struct_size = control.struct_size;
  table.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  table.pjrt_api_version.major_version = control.major_version;
  table.pjrt_api_version.minor_version = control.minor_version;
#define HAS(name) table.PJRT_##name = fake_##name
  HAS(Error_Destroy), HAS(Error_Message), HAS(Error_GetCode);
  HAS(Plugin_Initialize);
  HAS(Event_Destroy), HAS(Event_Await);
  HAS(Client_Create), HAS(Client_Destroy), HAS(Client_PlatformName), HAS(Client_PlatformVersion);
  HAS(Client_AddressableDevices), HAS(Client_DefaultDeviceAssignment), HAS(Client_Compile);
  HAS(Client_Devices);
  HAS(Client_BufferFromHostBuffer), HAS(Device_GetDescription), HAS(Device_MemoryStats);
  HAS(DeviceDescription_Id), HAS(DeviceDescription_Kind);
  HAS(Buffer_Destroy), HAS(Buffer_Dimensions), HAS(Buffer_ElementType);
  HAS(Buffer_ToHostBuffer);
  HAS(LoadedExecutable_Destroy), HAS(LoadedExecutable_GetExecutable);
  HAS(LoadedExecutable_AddressableDevices), HAS(LoadedExecutable_Execute);
  HAS(Executable_Destroy), HAS(Executable_NumOutputs), HAS(Executable_GetCompiledMemoryStats);
  HAS(Executable_GetCostAnalysis), HAS(Executable_Serialize), HAS(Executable_DeserializeAndLoad);
#undef HAS
  return control.has_table ? &table : nullptr;
}

}  // extern "C"
