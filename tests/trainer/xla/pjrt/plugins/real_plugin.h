#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/support/drawn_seed.h"
#include "trainer/xla/pjrt/client.h"
#include "trainer/xla/pjrt/executable.h"

namespace berth {

// Gives tests a client of a real plugin, and skips them if it is not installed. The parameter is
// the version of its PJRT interface. scripts/install-xla-plugin.sh installs the plugins; CI does
// so.
class WithRealPlugin : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("BERTH_XLA_PLUGINS");
    path = std::string(folder == nullptr ? BERTH_XLA_PLUGINS : folder) + "/pjrt-cpu-" + GetParam() +
           ".so";
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << "NOT TESTED: there is no " << path
                   << "; run scripts/install-xla-plugin.sh, or set BERTH_XLA_PLUGINS";
    }
    plugin = std::make_unique<PjrtPlugin>(path);
    client = std::make_unique<PjrtClient>(*plugin);
  }

  template <typename T>
  PjrtBuffer upload(const std::vector<T>& values, DType dtype,
                    const std::vector<int64_t>& dimensions, size_t device = 0) const {
    return client->upload(std::as_bytes(std::span(values)), dtype, dimensions,
                          client->devices()[device]);
  }
  template <typename T = float>
  static std::vector<T> download(const PjrtBuffer& buffer) {
    std::vector<T> values(buffer.size_bytes() / sizeof(T));
    buffer.download(std::as_writable_bytes(std::span(values)));
    return values;
  }

  std::string path;
  std::unique_ptr<PjrtPlugin> plugin;
  std::unique_ptr<PjrtClient> client;
};

// The plugins that compute correctly, and all of them.
inline const auto kGoodPlugins = testing::Values("0.115", "0.106");
inline const auto kAllPlugins = testing::Values("0.115", "0.106", "0.81");
// For tests whose programs take a minute to compile: one that computes correctly. CI draws it anew
// for each run.
inline const auto kDrawnPlugin =
    testing::Values(std::string(drawn_seed() % 2 == 0 ? "0.115" : "0.106"));
inline std::string version_name(const testing::TestParamInfo<std::string>& info) {
  return info.param.substr(0, 1) + "_" + info.param.substr(2);
}

}  // namespace berth
