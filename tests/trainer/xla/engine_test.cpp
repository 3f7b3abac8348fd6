#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <limits>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/xla/xla_case.h"

namespace berth {
namespace {

constexpr StateTensors kAllTensors[] = {StateTensors::kValues, StateTensors::kFirstMoments,
                                        StateTensors::kSecondMoments};

class XlaEngines : public WithXlaDevice {
 protected:
  void SetUp() override {
    WithXlaDevice::SetUp();
    if (IsSkipped()) return;
    device = open();
    halves = {part_of(recorded.batch, 0, 2),
              part_of(recorded.batch, 2, recorded.batch.cu_seqlens.size() - 1)};
  }

  std::unique_ptr<Engine> make(int64_t micro_batches = 1) {
    auto engine = device->make_engine(engine_options(recorded, micro_batches));
    copy_state(recorded.cpu(), *engine);
    return engine;
  }
  std::vector<std::vector<std::vector<float>>> state_of(const Engine& engine) {
    std::vector<std::vector<std::vector<float>>> state;
    for (const StateTensors which : kAllTensors) state.push_back(tensors_of(engine, which));
    return state;
  }

  RecordedCase recorded{"bert-sequence", /*drops=*/true};
  std::unique_ptr<Device> device;
  std::vector<PackedBatch> halves;
};

TEST_F(XlaEngines, StartWithZeros) {
  const auto engine = device->make_engine(engine_options(recorded));
  for (const auto& tensors : state_of(*engine)) {
    for (const auto& tensor : tensors) EXPECT_EQ(tensor, std::vector<float>(tensor.size()));
  }
}

TEST_F(XlaEngines, StateGoesToThemAndComesBack) {
  const auto engine = make();
  update(recorded.cpu(), {&recorded.batch, 1}, 0);
  copy_state(recorded.cpu(), *engine);
  EXPECT_EQ(state_of(*engine), state_of(recorded.cpu()));
  engine->clear_moments();
  for (const auto& tensor : tensors_of(*engine, StateTensors::kSecondMoments)) {
    EXPECT_EQ(tensor, std::vector<float>(tensor.size()));
  }
}

TEST_F(XlaEngines, PartsOfTensorsAreWrittenAndRead) {
  const auto engine = make();
  ParameterTensors& values = engine->tensors(StateTensors::kValues);
  std::vector<float> expected = values.read(0);
  const float part[] = {5, 6};
  values.write(0, 3, std::as_bytes(std::span(part)));
  expected[3] = 5;
  expected[4] = 6;
  EXPECT_EQ(values.read(0), expected);
  engine->tensors_written();
  EXPECT_EQ(values.read(0), expected);
  std::vector<float> middle(3);
  values.read(0, 2, middle);
  EXPECT_THAT(middle, testing::ElementsAre(expected[2], 5, 6));
}

TEST_F(XlaEngines, MicroBatchesAreThoseOfTheCpu) {
  const auto engine = make(/*micro_batches=*/2);
  for (uint64_t step = 0; step < 3; ++step) {
    expect_close(update(*engine, halves, step), update(recorded.cpu(), halves, step), 1e-4);
  }
  // An update may have fewer.
  expect_close(update(*engine, {&recorded.batch, 1}, 3),
               update(recorded.cpu(), {&recorded.batch, 1}, 3), 1e-4);
}

TEST_F(XlaEngines, AdaptersTrainAndFrozenValuesStay) {
  RecordedCase adapted("bert-sequence", /*drops=*/true);
  adapted.options.lora = {.rank = 3, .alpha = 6, .dropout = 0.25, .target_modules = "all-linear"};
  const auto engine = device->make_engine(engine_options(adapted));
  copy_state(adapted.cpu(), *engine);
  const auto before = tensors_of(*engine, StateTensors::kValues);
  for (uint64_t step = 0; step < 3; ++step) {
    const UpdateOutcome expected = update(adapted.cpu(), {&adapted.batch, 1}, step);
    expect_close(update(*engine, {&adapted.batch, 1}, step), expected, 1e-4);
  }
  const auto after = tensors_of(*engine, StateTensors::kValues);
  const auto specs = engine->tensors(StateTensors::kValues).specs();
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(after[i] != before[i], specs[i].trains) << specs[i].name;
  }
}

TEST_F(XlaEngines, AnUpdateThatIsNotFiniteChangesNothing) {
  for (const int64_t micro_batches : {1, 2}) {
    const auto engine = make(micro_batches);
    update(*engine, {&recorded.batch, 1}, 0);
    const auto before = state_of(*engine);
    PackedBatch broken = recorded.batch;
    broken.weights.assign(static_cast<size_t>(broken.num_sequences()), 1);
    broken.weights[1] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(update(*engine, {&broken, 1}, 1).was_applied());
    EXPECT_EQ(state_of(*engine), before);
    EXPECT_TRUE(update(*engine, {&recorded.batch, 1}, 1).was_applied());
    EXPECT_NE(state_of(*engine), before);
  }
}

TEST_F(XlaEngines, TwoUpdatesMayBeInFlight) {
  const auto engine = make(), other = make();
  const std::atomic<bool> stop = false;
  PackedBatch batch = recorded.batch;
  ASSERT_TRUE(
      engine->start_update({&batch, 1}, {.seed = 1, .step = 0, .learning_rate = 1e-3f}, stop));
  ASSERT_TRUE(
      engine->start_update({&batch, 1}, {.seed = 1, .step = 1, .learning_rate = 1e-3f}, stop));
  batch = {};
  for (uint64_t step = 0; step < 2; ++step) {
    ASSERT_TRUE(other->start_update({&recorded.batch, 1},
                                    {.seed = 1, .step = step, .learning_rate = 1e-3f}, stop));
    const UpdateOutcome expected = other->collect_update();
    EXPECT_EQ(engine->collect_update().loss_sum, expected.loss_sum);
  }
  EXPECT_EQ(state_of(*engine), state_of(*other));
}

TEST_F(XlaEngines, AStoppedUpdateIsAsIfItHadNeverStarted) {
  const auto engine = make(/*micro_batches=*/2);
  const auto before = state_of(*engine);
  std::atomic<bool> stop = true;
  EXPECT_FALSE(engine->start_update(halves, {.seed = 1, .step = 0, .learning_rate = 1}, stop));
  EXPECT_EQ(state_of(*engine), before);
  expect_close(update(*engine, halves, 0), update(recorded.cpu(), halves, 0), 1e-4);
}

TEST_F(XlaEngines, UnknownIdsAreBadData) {
  const auto engine = make();
  PackedBatch broken = recorded.batch;
  broken.input_ids[3] = 1 << 20;
  const std::atomic<bool> stop = false;
  LossSum loss;
  EXPECT_THAT(
      [&] {
        engine->start_update({&broken, 1}, {}, stop);
      },
      ThrowsCode(Code::kBadData, "token id 1048576 is outside"));
  EXPECT_THAT([&] { engine->infer(broken, loss); }, ThrowsCode(Code::kBadData));
}

TEST_F(XlaEngines, InferWithoutLabelsAndWithoutMoments) {
  EngineOptions options = engine_options(recorded);
  options.trains = false;
  const auto engine = device->make_engine(options);
  const auto values = tensors_of(recorded.cpu(), StateTensors::kValues);
  for (size_t i = 0; i < values.size(); ++i) {
    engine->tensors(StateTensors::kValues).write(i, 0, std::as_bytes(std::span(values[i])));
  }
  engine->tensors_written();
  EXPECT_THAT([&] { engine->tensors(StateTensors::kFirstMoments); }, ThrowsCode(Code::kInternal));
  LossSum loss{.loss = 1.5, .weight = 2}, ignored;
  PackedBatch batch = recorded.batch;
  const std::vector<float> with_labels = engine->infer(batch, ignored);
  batch.labels = {};
  EXPECT_EQ(engine->infer(batch, loss), with_labels);
  EXPECT_EQ(loss.loss, 1.5);
  EXPECT_EQ(loss.weight, 2);
}

// Bytes that this process has in memory.
int64_t resident_bytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST_F(XlaEngines, AThousandUpdatesTakeNoMoreMemory) {
  const auto engine = make();
  for (uint64_t step = 0; step < 200; ++step) update(*engine, {&recorded.batch, 1}, step, 1e-4f);
  const int64_t before = resident_bytes();
  for (uint64_t step = 0; step < 1000; ++step) update(*engine, {&recorded.batch, 1}, step, 1e-4f);
  EXPECT_LT(resident_bytes() - before, 8 << 20);
}

}  // namespace
}  // namespace berth
