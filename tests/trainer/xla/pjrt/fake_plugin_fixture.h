#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/throws_code.h"
#include "tests/trainer/xla/pjrt/fake_plugin.h"
#include "trainer/xla/pjrt/client.h"
#include "trainer/xla/pjrt/executable.h"
#include "trainer/xla/pjrt/plugin.h"

namespace berth {

// Gives each test a fake plugin that does nothing wrong yet. After the test, everything that was
// created must have been destroyed once.
class WithFakePlugin : public testing::Test {
 protected:
  WithFakePlugin() {
    const auto function = reinterpret_cast<FakePluginControlFunction>(
        ::dlsym(::dlopen(BERTH_FAKE_PLUGIN, RTLD_NOW | RTLD_LOCAL), "fake_plugin_control"));
    control = function();
    control->major_version = PJRT_API_MAJOR;
    control->struct_size = PJRT_Api_STRUCT_SIZE;
    control->has_table = true;
    control->fails = control->event_fails = control->hangs = "";
    control->code = PJRT_Error_Code_INTERNAL;
    control->message = "the fake plugin was told to fail";
    control->released = false;
    control->devices = 2;
    control->other_devices = 0;
    control->bytes_in_use = {5, 5};
    control->bytes_limit = 100;
    control->temporary_bytes = 8;
    control->destroyed_errors = 0;
    control->calls.clear();
  }
  ~WithFakePlugin() override {
    for (const auto& [object, kind] : control->alive) ADD_FAILURE() << "not destroyed: " << kind;
    for (const std::string& mistake : control->mistakes) ADD_FAILURE() << mistake;
    control->leave_behind();
    control->mistakes.clear();
  }

  void fail(const std::string& function, PJRT_Error_Code code = PJRT_Error_Code_INTERNAL) {
    control->fails = function;
    control->code = code;
  }

  static PjrtBuffer upload(const PjrtClient& client, const std::vector<float>& values,
                           size_t device = 0) {
    const int64_t dimensions[] = {static_cast<int64_t>(values.size())};
    return client.upload(std::as_bytes(std::span(values)), DType::kF32, dimensions,
                         client.devices()[device]);
  }
  static std::vector<float> download(const PjrtBuffer& buffer) {
    std::vector<float> values(buffer.size_bytes() / sizeof(float));
    buffer.download(std::as_writable_bytes(std::span(values)));
    return values;
  }

  // Waits until `condition` holds, at most ten seconds. Returns whether it does.
  template <typename Condition>
  bool eventually(Condition condition) {
    for (int i = 0; i < 10000; ++i) {
      {
        const std::lock_guard lock(control->lock);
        if (condition()) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  FakePluginControl* control;
};

}  // namespace berth
