#pragma once

#include <pjrt_c_api.h>

#include <string_view>
#include <vector>

#include "trainer/xla/pjrt/client_options.h"

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

}  // namespace berth
