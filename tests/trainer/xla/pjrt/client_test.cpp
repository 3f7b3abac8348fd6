#include "trainer/xla/pjrt/client.h"

#include <map>

#include "tests/trainer/xla/pjrt/fake_plugin_fixture.h"

namespace berth {
namespace {

struct ClientTest : WithFakePlugin {
  PjrtPlugin plugin{BERTH_FAKE_PLUGIN};
};

TEST_F(ClientTest, DescribesItsDevices) {
  const PjrtClient client(plugin);
  EXPECT_EQ(client.platform(), "fake");
  EXPECT_EQ(client.platform_version(), "v7");
  ASSERT_EQ(client.devices().size(), 2u);
  EXPECT_EQ(client.devices()[1].id, 11);
  EXPECT_EQ(client.devices()[1].kind, "abacus");
  EXPECT_EQ(client.default_device_ids(2), (std::vector<int>{10, 11}));
  const auto memory = client.memory_of(client.devices()[0]);
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->in_use, 5);
  EXPECT_EQ(memory->limit, 100);
  EXPECT_EQ(memory->peak_in_use, std::nullopt);
}

// Refuses one key.
class StoreOfTwoHosts final : public KeyValueStore {
 public:
  void set(const std::string& key, Bytes value) override {
    values[key].assign(value.begin(), value.end());
  }
  std::vector<std::byte> get(const std::string& key) override {
    if (!values.contains(key)) throw Error(Code::kPeerLost, "nobody tells " + key);
    return values[key];
  }
  std::map<std::string, std::vector<std::byte>> values;
};

TEST_F(ClientTest, JoinsTheDevicesOfSeveralHosts) {
  control->other_devices = 2;
  StoreOfTwoHosts store;
  const PjrtClient client(plugin, 60, {.rank = 1, .size = 2, .store = &store, .names_nodes = true});
  EXPECT_EQ(client.devices().size(), 2u);
  EXPECT_EQ(client.devices()[0].id, 12);
  EXPECT_EQ(client.all_devices(), 4u);
  EXPECT_EQ(as_text(store.values["pjrt/topology"]), "two");
  EXPECT_EQ(control->hosts, (std::vector<std::string>{"node_id 1", "num_nodes 2", "two",
                                                      "nobody tells pjrt/refused"}));
}

TEST_F(ClientTest, IsToldHowToTakeTheMemoryOfGpus) {
  const PjrtClient client(plugin, 60, {}, {.preallocates = false, .fraction = 0.5f});
  EXPECT_EQ(control->hosts, (std::vector<std::string>{"preallocate false", "memory_fraction 0.5"}));
}

TEST_F(ClientTest, OneHostIsToldNothing) {
  const PjrtClient client(plugin);
  EXPECT_EQ(control->hosts, std::vector<std::string>());
}

TEST_F(ClientTest, FailureIsOneSentence) {
  fail("Client_Create", PJRT_Error_Code_INVALID_ARGUMENT);
  control->message = "No visible GPU devices.";
  EXPECT_THAT([&] { PjrtClient{plugin}; },
              ThrowsCode(Code::kUsage,
                         "Client_Create failed: No visible GPU devices; check the device and its "
                         "driver"));
}

TEST_F(ClientTest, OutOfMemoryIsTold) {
  fail("Client_Create", PJRT_Error_Code_RESOURCE_EXHAUSTED);
  EXPECT_THAT([&] { PjrtClient{plugin}; }, ThrowsCode(Code::kMemory));
}

TEST_F(ClientTest, NoDevices) {
  control->devices = 0;
  EXPECT_THAT([&] { PjrtClient{plugin}; },
              ThrowsCode(Code::kUsage, "the plugin has no device that this process can use"));
}

TEST_F(ClientTest, HangingCreationEndsAtTheDeadline) {
  control->hangs = "Client_Create";
  EXPECT_THAT([&] { PjrtClient(plugin, 0.05); },
              ThrowsCode(Code::kUsage, "found no devices within 0.05 s; check that this machine"));
  control->released = true;
  // The thread, which is left behind, destroys the client that it gets too late.
  EXPECT_TRUE(eventually([&] { return control->calls["Client_Destroy"] == 1; }));
  EXPECT_TRUE(eventually([&] { return control->alive.empty(); }));
}

TEST_F(ClientTest, HangingCreationMayFailAfterThePluginIsGone) {
  control->hangs = control->fails = "Client_Create";
  {
    const PjrtPlugin passing(BERTH_FAKE_PLUGIN);
    EXPECT_THAT([&] { PjrtClient(passing, 0.05); }, ThrowsCode(Code::kUsage));
  }
  control->released = true;
  EXPECT_TRUE(eventually([&] { return control->destroyed_errors == 1; }));
}

TEST_F(ClientTest, MemoryIsUnknownIfThePluginFailsToTell) {
  const PjrtClient client(plugin);
  fail("Device_MemoryStats", PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_EQ(client.memory_of(client.devices()[0]).has_value(), false);
}

}  // namespace
}  // namespace berth
