#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/xla/pjrt/named_value.h"

namespace berth {

class PjrtApi;

// A PJRT plugin: a shared library that compiles StableHLO programs and runs them on its devices
// (xla/pjrt/c/pjrt_c_api.h of OpenXLA). Plugins of any minor version are accepted: a function that
// an older one lacks is an Error only when it is called. The library stays loaded until the process
// ends, because plugins have threads that survive their clients.
//
// Thread-safe once built. Must outlive its clients and everything made by them.
class PjrtPlugin {
 public:
  // Loads the library at `path`, checks its version and initializes it. Throws kNotFound where
  // there is no such file, and kUsage where it is no plugin, has another major version, does not
  // initialize or takes longer than `deadline_s` seconds. See deadline.h for what a plugin that
  // hangs leaves behind.
  explicit PjrtPlugin(const std::string& path, double deadline_s = 60);
  ~PjrtPlugin();
  PjrtPlugin(const PjrtPlugin&) = delete;
  PjrtPlugin& operator=(const PjrtPlugin&) = delete;

  const std::string& path() const { return path_; }
  std::string api_version() const;  // "0.115"
  // What the plugin tells of itself, such as xla_version and stablehlo_current_version. May be
  // empty.
  const std::vector<PjrtNamedValue>& attributes() const { return attributes_; }
  // The newest StableHLO that it reads, "1.20.0", or "" if it does not say.
  std::string stablehlo_version() const;

  const PjrtApi& api() const { return *api_; }  // for this folder

 private:
  std::string path_;
  std::unique_ptr<PjrtApi> api_;
  std::vector<PjrtNamedValue> attributes_;
};

}  // namespace berth
