#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/trainer/xla/network/recorded_case.h"
#include "trainer/xla/xla_device.h"

namespace berth {

// Gives tests devices of a real plugin, and skips them if it is not installed
// (scripts/install-xla-plugin.sh installs it; CI does so). The device kit names another plugin, its
// platform and a folder for compiled programs by BERTH_XLA_PLUGIN, BERTH_XLA_PLATFORM and
// BERTH_XLA_PROGRAMS.
class WithXlaDevice : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("BERTH_XLA_PLUGINS");
    plugin = std::string(folder == nullptr ? BERTH_XLA_PLUGINS : folder) + "/pjrt-cpu-0.115.so";
    if (const char* other = std::getenv("BERTH_XLA_PLUGIN")) plugin = other;
    if (!std::filesystem::exists(plugin)) {
      GTEST_SKIP() << "NOT TESTED: there is no " << plugin
                   << "; run scripts/install-xla-plugin.sh, or set BERTH_XLA_PLUGINS";
    }
  }

  std::unique_ptr<Device> open(int64_t devices = 1, DType product_dtype = DType::kF32) const {
    const char* platform = std::getenv("BERTH_XLA_PLATFORM");
    const char* programs = std::getenv("BERTH_XLA_PROGRAMS");
    return make_xla_device(
        {.plugin_path = plugin,
         .platform = platform == nullptr ? "cpu" : platform,
         .product_dtype = product_dtype,
         .devices = devices,
         .cache_directory = programs == nullptr ? BERTH_XLA_PROGRAMS : programs});
  }

  std::string plugin;
};

inline EngineOptions engine_options(const RecordedCase& recorded, int64_t micro_batches = 1) {
  return {.config = recorded.options.config,
          .lora = recorded.options.lora,
          .trains = true,
          .optimizer = recorded.options.optimizer,
          .loss = recorded.options.loss,
          .limits = {.tokens = 64, .sequences = 8},
          .micro_batches = micro_batches,
          .update_tokens = 64 * micro_batches,
          .longest = 16};
}

// All tensors of one kind that an engine has.
inline std::vector<std::vector<float>> tensors_of(const Engine& engine, StateTensors which) {
  std::vector<std::vector<float>> all;
  const ParameterTensors& tensors = engine.tensors(which);
  for (size_t i = 0; i < tensors.specs().size(); ++i) {
    const bool exists = which == StateTensors::kValues || tensors.specs()[i].trains;
    all.push_back(exists ? tensors.read(i) : std::vector<float>());
  }
  return all;
}

// Writes one engine's values and moments into another.
inline void copy_state(const Engine& from, Engine& to) {
  for (const StateTensors which :
       {StateTensors::kValues, StateTensors::kFirstMoments, StateTensors::kSecondMoments}) {
    const auto all = tensors_of(from, which);
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].empty()) to.tensors(which).write(i, 0, std::as_bytes(std::span(all[i])));
    }
  }
  to.tensors_written();
}

// Waits for one update.
inline UpdateOutcome update(Engine& engine, std::span<const PackedBatch> micro_batches,
                            uint64_t step, float learning_rate = 2e-3f) {
  const std::atomic<bool> stop = false;
  EXPECT_TRUE(engine.start_update(
      micro_batches, {.seed = 0x123456789ABull, .step = step, .learning_rate = learning_rate},
      stop));
  return engine.collect_update();
}

inline void expect_close(const UpdateOutcome& found, const UpdateOutcome& expected,
                         double tolerance) {
  EXPECT_NEAR(found.loss_sum, expected.loss_sum, tolerance * std::abs(expected.loss_sum));
  EXPECT_NEAR(found.examples, expected.examples, 1e-5 * expected.examples);
  EXPECT_NEAR(found.grad_norm, expected.grad_norm, tolerance * expected.grad_norm);
}

}  // namespace berth
