#pragma once

#include <string>

#include "trainer/xla/pjrt/handle.h"

namespace berth {

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
  // kUsage if it does not initialize or takes longer than `deadline_s` seconds. deadline.h says
  // what a plugin that hangs leaves behind.
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
