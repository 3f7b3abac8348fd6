#include "trainer/xla/pjrt/host_callbacks.h"

#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/text.h"

namespace berth {
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

}  // namespace berth
