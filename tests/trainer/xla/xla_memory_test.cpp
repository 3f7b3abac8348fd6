#include <gmock/gmock.h>

#include "tests/support/tiny_config.h"
#include "tests/trainer/xla/pjrt/fake_plugin_fixture.h"
#include "trainer/xla/layout/laid_out_batch.h"
#include "trainer/xla/xla_engine.h"

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

// An engine that infers, on a device whose memory the test chooses.
class XlaOutOfMemory : public XlaMemory {
 protected:
  XlaOutOfMemory() {
    options.trains = false;
    state = static_cast<int64_t>(xla_memory(options, 1, false).parameters);
    batch.input_ids = batch.token_type_ids = batch.position_ids = std::vector<int32_t>(8);
    batch.cu_seqlens = {0, 8};
  }
  std::string complaint() {
    Profiler* const none = nullptr;
    XlaEngine engine({}, options, device, cache, DropoutGenerator::kPhilox, none);
    LossSum loss;
    try {
      engine.infer(batch, loss);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kMemory);
      return error.hint();
    }
    return "";
  }

  const XlaReplicas device{client, {client.devices()[0]}};
  const ExecutableCache cache{""};
  int64_t state = 0;  // bytes of the parameters
  PackedBatch batch;
};

TEST_F(XlaOutOfMemory, OfAnExecutionNamesTheBatchThatFitsByCompiledMemory) {
  fail("LoadedExecutable_Execute", PJRT_Error_Code_RESOURCE_EXHAUSTED);
  const BatchShape shape = batch_shapes(options.limits, options.longest, 1).front();
  control->temporary_bytes = 1000 * shape.tokens();  // 10 bytes more are of outputs
  control->bytes_limit = state + 1000 * 20 + 20;
  EXPECT_EQ(complaint(),
            "a micro-batch of about 20 tokens would fit, such as 1 example of 16; make the batch "
            "smaller or use gradient checkpointing");
}

TEST_F(XlaOutOfMemory, OfTheCompilerNamesTheBatchThatFitsByTheEstimate) {
  fail("Client_Compile", PJRT_Error_Code_RESOURCE_EXHAUSTED);
  control->bytes_limit =
      state + static_cast<int64_t>(xla_memory(options, 1, false).activations) / 2 + 1;
  EXPECT_THAT(complaint(), testing::StartsWith("a micro-batch of about 32 tokens would fit, such "
                                               "as 2 examples of 16; "));
}

TEST_F(XlaOutOfMemory, SaysIfTheModelAloneIsTooLarge) {
  fail("LoadedExecutable_Execute", PJRT_Error_Code_RESOURCE_EXHAUSTED);
  control->bytes_limit = state;
  EXPECT_THAT(complaint(), testing::HasSubstr("no memory for a sequence of 16 tokens"));
}

TEST_F(XlaOutOfMemory, IsToldAsItIsWhereTheDeviceDoesNotTellItsMemory) {
  fail("LoadedExecutable_Execute", PJRT_Error_Code_RESOURCE_EXHAUSTED);
  control->bytes_limit = 0;
  EXPECT_EQ(complaint(), "the device has too little free memory: take a smaller batch");
}

}  // namespace
}  // namespace berth
