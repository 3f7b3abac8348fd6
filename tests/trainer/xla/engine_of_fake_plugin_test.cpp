#include <map>
#include <string>

#include "storage/base/profiler.h"
#include "tests/support/rank_threads.h"
#include "tests/support/tiny_config.h"
#include "tests/trainer/xla/pjrt/fake_plugin_fixture.h"
#include "trainer/xla/xla_engine.h"

namespace berth {
namespace {

// The parameter is the number of micro-batches of an update. The plugin computes zeros, and counts
// what is created and destroyed.
class XlaEngineOfFakePlugin : public WithFakePlugin, public testing::WithParamInterface<int64_t> {
 protected:
  XlaEngineOfFakePlugin() {
    batch.input_ids = batch.token_type_ids = batch.position_ids = std::vector<int32_t>(8);
    batch.cu_seqlens = {0, 8};
    batch.labels = PackedBatch::Classes{1};
  }
  EngineOptions options_of_update() const {
    return {.config = tiny_config(),
            .limits = {.tokens = 64, .sequences = 4},
            .micro_batches = GetParam(),
            .longest = 16};
  }
  XlaEngine make() { return make(options_of_update(), device); }
  XlaEngine make(const EngineOptions& options, const XlaReplicas& replicas) {
    return XlaEngine({}, options, replicas, cache, DropoutGenerator::kPhilox, profiler);
  }
  void start(XlaEngine& engine, uint64_t step) {
    const std::vector<PackedBatch> micro_batches(static_cast<size_t>(GetParam()), batch);
    const std::atomic<bool> stop = false;
    engine.start_update(micro_batches, {.step = step}, stop);
  }

  // What the compiler is told.
  static std::string replicas(int count, std::vector<int> ids = {}) {
    return serialized({.replicas = count, .device_ids = std::move(ids), .flags = kProgramFlags});
  }

  const PjrtPlugin plugin{BERTH_FAKE_PLUGIN};
  const PjrtClient client{plugin};
  const XlaReplicas device{client, {client.devices()[0]}};
  const ExecutableCache cache{""};
  Profiler* profiler = nullptr;
  PackedBatch batch;
};

TEST_P(XlaEngineOfFakePlugin, LeavesNothingBehindInAThousandUpdates) {
  XlaEngine engine = make();
  size_t alive = 0;
  for (uint64_t step = 0; step < 1000; ++step) {
    start(engine, step);
    if (step == 0) continue;
    engine.collect_update();
    if (step == 1) alive = control->alive.size();
  }
  EXPECT_EQ(control->alive.size(), alive);
  EXPECT_EQ(control->calls["Client_Compile"], GetParam() == 1 ? 1 : 2);
}

TEST_P(XlaEngineOfFakePlugin, RecordsWhatTheHostDoesWhileAProfilerIsThere) {
  XlaEngine engine = make();
  Profiler recorder(0);
  profiler = &recorder;
  recorder.start();
  start(engine, 0);
  engine.collect_update();
  recorder.stop();
  profiler = nullptr;
  start(engine, 1);
  engine.collect_update();
  std::map<std::string, int64_t> calls;
  for (const ProfileSpan& span : recorder.of_caller()) ++calls[span.name];
  EXPECT_EQ(calls["laying out the batch"], GetParam());
  const int64_t programs = GetParam() == 1 ? 1 : GetParam() + 1;
  EXPECT_EQ(calls["starting uploads"], programs);
  EXPECT_EQ(calls["starting the program"], programs);
  EXPECT_EQ(calls["waiting for the device"], 1);
}

TEST_P(XlaEngineOfFakePlugin, NamesTheBatchThatFitsWhereAnExecutionFailsLate) {
  control->bytes_limit = 1 << 20;
  control->event_fails = "LoadedExecutable_Execute";
  control->code = PJRT_Error_Code_RESOURCE_EXHAUSTED;
  XlaEngine engine = make();
  start(engine, 0);
  EXPECT_THAT([&] { engine.collect_update(); },
              ThrowsCode(Code::kMemory, "a micro-batch of about 32 tokens would fit"));
}

TEST_P(XlaEngineOfFakePlugin, ComputesItsPartOfTheDevicesOfTwoHosts) {
  const XlaReplicas second{
      .client = client, .devices = {client.devices()[1]}, .numbers = {1}, .all_hosts = 2};
  EngineOptions options = options_of_update();
  run_ranks(2, [&](Communicator& ranks) {
    if (ranks.rank() == 1) {
      EXPECT_FALSE(any_rank(ranks, false));
      EXPECT_TRUE(any_rank(ranks, true));  // stops the update of both
      return;
    }
    options.ranks = {.size = 2, .communicator = &ranks};
    XlaEngine engine = make(options, second);
    start(engine, 0);
    EXPECT_EQ(control->compile_options, replicas(2));
    engine.collect_update();
    LossSum loss;
    engine.infer(batch, loss);
    EXPECT_EQ(control->compile_options, replicas(1, {11}));
    const std::atomic<bool> stop = false;
    EXPECT_FALSE(engine.start_update({&batch, 1}, {.step = 1}, stop));
  });
}

INSTANTIATE_TEST_SUITE_P(MicroBatches, XlaEngineOfFakePlugin, testing::Values(1, 2));

}  // namespace
}  // namespace berth
