#include <gmock/gmock.h>

#include "storage/base/error.h"
#include "tests/support/rank_threads.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/xla/xla_case.h"

namespace berth {
namespace {

using testing::MatchesRegex;

class XlaDevices : public WithXlaDevice {};

TEST_F(XlaDevices, RefuseAPluginThatDoesNotJoinTheDevicesOfTwoHosts) {
  StoreInMemory store;
  const auto open_host = [&](int64_t rank) {
    return make_xla_device(
        {.plugin_path = plugin, .hosts = {.rank = rank, .size = 2, .store = &store}});
  };
  std::jthread other([&] {
    EXPECT_THAT([&] { open_host(1); }, ThrowsCode(Code::kUsage, "does not join the devices"));
  });
  EXPECT_THAT([&] { open_host(0); },
              ThrowsCode(Code::kUsage, "it knows 4 devices, and the 2 workers have 8"));
}

TEST_F(XlaDevices, TellWhatTheyAre) {
  EXPECT_THAT(open(1)->info().description, MatchesRegex("xla-cpu-fp32, PJRT 0\\.[0-9]+, 1 device"));
  EXPECT_THAT(open(0, DType::kBF16)->info().description,
              MatchesRegex("xla-cpu-bf16, PJRT 0\\.[0-9]+, [0-9]+ devices"));
  EXPECT_EQ(open(1)->info().updates_in_flight, 1u);
  // A checkpoint records this, and a job that continues with another description warns.
  const auto by_threefry = make_xla_device(
      {.plugin_path = plugin, .generator = DropoutGenerator::kThreefry, .devices = 1});
  EXPECT_THAT(by_threefry->info().description,
              MatchesRegex("xla-.*, Threefry, PJRT 0\\.[0-9]+, 1 device"));
}

TEST_F(XlaDevices, AreOfThePlatformThatWasAskedFor) {
  EXPECT_THAT([&] { make_xla_device({.plugin_path = plugin, .platform = "tpu"}); },
              ThrowsCode(Code::kUsage, "is for cpu, not for tpu"));
}

TEST_F(XlaDevices, MustBeEnough) {
  EXPECT_THAT([&] { open(1000); }, ThrowsCode(Code::kUsage, "1000 devices"));
}

TEST_F(XlaDevices, CountTheStateExactly) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  EngineOptions options = engine_options(recorded, /*micro_batches=*/2);
  const EngineMemory memory = open()->memory_of(options);
  const ParameterTensors& values = recorded.cpu().tensors(StateTensors::kValues);
  EXPECT_EQ(memory.parameters, 4 * static_cast<size_t>(total_elements(values.specs())));
  EXPECT_EQ(memory.moments, 2 * memory.parameters);
  EXPECT_EQ(memory.gradients, memory.parameters);
  EXPECT_GT(memory.activations, memory.parameters);
  options.trains = false;
  EXPECT_EQ(open()->memory_of(options).moments, 0u);
}

TEST(XlaDevice, NeedsAPlugin) {
  EXPECT_THAT([] { make_xla_device({.plugin_path = "/nowhere/plugin.so"}); },
              ThrowsCode(Code::kNotFound));
}

}  // namespace
}  // namespace berth
