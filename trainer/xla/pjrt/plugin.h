#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "storage/base/error.h"

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

// From this moment on, exit() runs no destructors of static objects and does not wait for locks of
// the dynamic loader. Standard output and error are still flushed.
void end_at_once_on_exit();

// Runs `work` on a thread of its own, waits for it at most `deadline_s` seconds, and returns what
// it returns or throws what it throws. Throws `late` after the deadline.
//
// A thread cannot be ended from outside, so after the deadline it is left behind, and `work` must
// own all that it uses. What it returns in the end is destroyed. The process is expected to end
// then: the thread may hold locks and use static objects, hence end_at_once_on_exit().
template <typename T>
T run_within(double deadline_s, std::function<T()> work, const Error& late) {
  std::packaged_task<T()> task(std::move(work));
  std::future<T> result = task.get_future();
  std::thread thread(std::move(task));
  if (result.wait_for(std::chrono::duration<double>(deadline_s)) == std::future_status::ready) {
    thread.join();
    return result.get();
  }
  thread.detach();
  end_at_once_on_exit();
  throw late;
}

// A PJRT plugin: a shared library that compiles StableHLO programs and runs them on its devices
// (xla/pjrt/c/pjrt_c_api.h of OpenXLA). Plugins of any minor version are accepted: a function that
// an older one lacks is an Error only when it is called. The library stays loaded until the process
// ends, because plugins have threads that survive their clients.
//
// A name for the library, cheap to copy and thread-safe. Must outlive its clients and everything
// made by them.
class PjrtPlugin {
 public:
  // Loads the library at `path`, checks its version and initializes it. Throws kNotFound if there
  // is no such file, and kUsage if it is not a plugin or has another major version. Also throws
  // kUsage if it does not initialize or takes longer than `deadline_s` seconds.
  explicit PjrtPlugin(std::string path, double deadline_s = 60);

  const std::string& path() const { return path_; }
  std::string api_version() const;  // "0.115"

  // For this folder.
  const PJRT_Api* table() const { return table_; }
  template <typename Object>
  PjrtOwned<Object> own(Object* object) const {
    return PjrtOwned<Object>(object, PjrtDestroy{table_});
  }

 private:
  PjrtPlugin(std::string path, const PJRT_Api* table);

  std::string path_;
  const PJRT_Api* table_;  // valid until the process ends
};

}  // namespace berth
