#include "tests/trainer/xla/pjrt/fake_plugin.h"

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

FAKE(Client_Create) {
  auto* client = new PJRT_Client;
  {
    const std::lock_guard lock(control.lock);
    for (size_t i = 0; i < control.devices; ++i) {
      client->devices.push_back({{static_cast<int>(10 + i)}});
    }
  }
  for (PJRT_Device& device : client->devices) client->pointers.push_back(&device);
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
