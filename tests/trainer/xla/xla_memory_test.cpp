#include "trainer/xla/xla_memory.h"

#include "tests/support/tiny_config.h"
#include "tests/trainer/xla/pjrt/fake_plugin_fixture.h"

namespace berth {
namespace {

class XlaMemory : public WithFakePlugin {
 protected:
  const PjrtPlugin plugin{BERTH_FAKE_PLUGIN};
  const PjrtClient client{plugin};
  const XlaReplicas replicas{client, {client.devices().begin(), client.devices().end()}};
  EngineOptions options{
      .config = tiny_config(), .limits = {.tokens = 64, .sequences = 4}, .longest = 16};
};

TEST_F(XlaMemory, OfSeveralDevicesIsThatOfTheOneWithTheLeastRoom) {
  control->bytes_in_use = {20, 30};
  const DeviceMemory memory = replicas.memory().value();
  EXPECT_EQ(memory.in_use, 30u);
  EXPECT_EQ(memory.limit, 100u);
  fail("Device_MemoryStats");
  EXPECT_FALSE(replicas.memory());
}

TEST_F(XlaMemory, IsTheHostsOrTheDevices) {
  const EngineMemory own = xla_memory(options, 2, /*on_host=*/false);
  EXPECT_TRUE(own.has_own_memory);
  EXPECT_EQ(own.loading, own.parameters + own.moments);
  EXPECT_EQ(own.on_host(), own.plugin);
  const EngineMemory shared = xla_memory(options, 2, /*on_host=*/true);
  EXPECT_FALSE(shared.has_own_memory);
  EXPECT_EQ(shared.on_host(), own.plugin + 2 * own.on_device());
}

TEST_F(XlaMemory, OfTheCompilerGrowsWithTheLayers) {
  const size_t before = xla_memory(options, 1, false).plugin;
  ++options.config.num_hidden_layers;
  EXPECT_GT(xla_memory(options, 1, false).plugin, before);
  options.trains = false;
  EXPECT_LT(xla_memory(options, 1, false).plugin, before);
}

}  // namespace
}  // namespace berth
