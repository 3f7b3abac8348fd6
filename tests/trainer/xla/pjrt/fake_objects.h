#pragma once

#include <chrono>
#include <cstring>
#include <thread>

#include "tests/trainer/xla/pjrt/fake_plugin.h"

// What the two sources of the fake plugin share: its objects, and how its functions begin.

using berth::FakePluginControl;

struct PJRT_Error {
  PJRT_Error_Code code;
  std::string message;
};
struct PJRT_Event {
  bool fails;
};
struct PJRT_DeviceDescription {
  int id;
};
struct PJRT_Device {
  PJRT_DeviceDescription description;
};
struct PJRT_Client {
  std::vector<PJRT_Device> devices;
  std::vector<PJRT_Device*> pointers;  // of this host, and of all hosts
  std::vector<PJRT_Device*> all_pointers;
};
struct PJRT_Buffer {
  PJRT_Buffer_Type type;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;
  bool is_deleted = false;
};
struct PJRT_Executable {
  std::string program;
};
struct PJRT_LoadedExecutable {
  std::string program;
  std::vector<PJRT_Device*> devices;
};
struct PJRT_SerializedExecutable {
  std::string bytes;
};

inline FakePluginControl control;

template <typename T>
T* created(const char* kind, T* object) {
  const std::lock_guard lock(control.lock);
  control.alive[object] = kind;
  return object;
}

template <typename T>
void destroyed(const char* kind, T* object) {
  {
    const std::lock_guard lock(control.lock);
    const auto found = control.alive.find(object);
    if (found == control.alive.end() || found->second != kind) {
      control.mistakes.push_back(std::string("destroyed what is no ") + kind);
      return;
    }
    control.alive.erase(found);
  }
  delete object;
}

inline PJRT_Error* make_error() {
  return created("error", new PJRT_Error{control.code, control.message});
}

inline PJRT_Event* make_event(const std::string& function) {
  return created("event", new PJRT_Event{control.event_fails == function});
}

inline PJRT_NamedValue named(const char* name, PJRT_NamedValue_Type type) {
  PJRT_NamedValue value = {};
  value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  value.name = name;
  value.name_size = std::strlen(name);
  value.type = type;
  value.value_size = 1;
  return value;
}

// What every function begins with. Returns an error where it is to fail.
template <typename Args>
PJRT_Error* begin(const std::string& function, const Args* args, size_t struct_size) {
  bool hangs, fails;
  {
    const std::lock_guard lock(control.lock);
    ++control.calls[function];
    if (args->struct_size != struct_size) control.mistakes.push_back("wrong size for " + function);
    hangs = control.hangs == function;
    fails = control.fails == function;
  }
  while (hangs && !control.released) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return fails ? make_error() : nullptr;
}

// FAKE(Name) { body } defines the plugin's function PJRT_Name. The body returns null for success.
#define FAKE(name)                                                                      \
  PJRT_Error* body_##name(PJRT_##name##_Args* args);                                    \
  PJRT_Error* fake_##name(PJRT_##name##_Args* args) {                                   \
    if (auto* error = begin(#name, args, PJRT_##name##_Args_STRUCT_SIZE)) return error; \
    return body_##name(args);                                                           \
  }                                                                                     \
  PJRT_Error* body_##name([[maybe_unused]] PJRT_##name##_Args* args)

// In fake_programs.cpp.
PJRT_Error* fake_Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args* args);
PJRT_Error* fake_Buffer_Destroy(PJRT_Buffer_Destroy_Args* args);
PJRT_Error* fake_Buffer_Dimensions(PJRT_Buffer_Dimensions_Args* args);
PJRT_Error* fake_Buffer_ElementType(PJRT_Buffer_ElementType_Args* args);
PJRT_Error* fake_Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args);
PJRT_Error* fake_Client_Compile(PJRT_Client_Compile_Args* args);
PJRT_Error* fake_LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args* args);
PJRT_Error* fake_LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args* args);
PJRT_Error* fake_LoadedExecutable_AddressableDevices(
    PJRT_LoadedExecutable_AddressableDevices_Args* args);
PJRT_Error* fake_Executable_Destroy(PJRT_Executable_Destroy_Args* args);
PJRT_Error* fake_Executable_NumOutputs(PJRT_Executable_NumOutputs_Args* args);
PJRT_Error* fake_Executable_GetCompiledMemoryStats(
    PJRT_Executable_GetCompiledMemoryStats_Args* args);
PJRT_Error* fake_Executable_GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args* args);
PJRT_Error* fake_Executable_Serialize(PJRT_Executable_Serialize_Args* args);
PJRT_Error* fake_Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args* args);
PJRT_Error* fake_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args* args);
