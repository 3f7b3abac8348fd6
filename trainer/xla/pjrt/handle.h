#pragma once

#include <memory>

struct PJRT_Api;
struct PJRT_Buffer;
struct PJRT_Client;
struct PJRT_Event;
struct PJRT_Executable;
struct PJRT_LoadedExecutable;

namespace berth {

// Destroys an object of a plugin by the plugin's function for its type. A failure has no
// consequence but a leak: it is ignored. `table` is the plugin's, which is valid until the process
// ends, so that objects may outlive the PjrtPlugin.
struct PjrtDestroy {
  const PJRT_Api* table = nullptr;

  void operator()(PJRT_Buffer* buffer) const noexcept;
  void operator()(PJRT_Client* client) const noexcept;
  void operator()(PJRT_Event* event) const noexcept;
  void operator()(PJRT_Executable* executable) const noexcept;
  void operator()(PJRT_LoadedExecutable* executable) const noexcept;
};

template <typename Object>
using PjrtOwned = std::unique_ptr<Object, PjrtDestroy>;

}  // namespace berth
