#include <gtest/gtest.h>

#include <tuple>

#include "tests/trainer/xla/xla_case.h"

namespace berth {
namespace {

class Replicas : public WithXlaDevice, public testing::WithParamInterface<int> {};

class ReplicasOfCase : public WithXlaDevice,
                       public testing::WithParamInterface<std::tuple<const char*, int>> {};

TEST_P(ReplicasOfCase, MakeTheUpdatesOfOneDevice) {
  const auto& [name, devices] = GetParam();
  RecordedCase recorded(name, /*drops=*/true);
  const auto one_device = open(1), device = open(devices);
  const auto one = one_device->make_engine(engine_options(recorded)),
             engine = device->make_engine(engine_options(recorded));
  copy_state(recorded.cpu(), *one);
  copy_state(recorded.cpu(), *engine);
  for (uint64_t step = 0; step < 5; ++step) {
    expect_close(update(*engine, {&recorded.batch, 1}, step),
                 update(*one, {&recorded.batch, 1}, step), 1e-5);
  }
  LossSum found, expected;
  const std::vector<float> logits = engine->infer(recorded.batch, found),
                           expected_logits = one->infer(recorded.batch, expected);
  EXPECT_NEAR(found.loss, expected.loss, 1e-4 * expected.loss);
  EXPECT_EQ(found.weight, expected.weight);
  ASSERT_EQ(logits.size(), expected_logits.size());
  for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], expected_logits[i], 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Devices, ReplicasOfCase,
                         testing::Combine(testing::Values("bert-sequence", "bert-masked"),
                                          testing::Values(2, 4)));

TEST_P(Replicas, AccumulateTheGradientsOfTheirMicroBatches) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  const std::vector<PackedBatch> parts = {
      part_of(recorded.batch, 0, 3),
      part_of(recorded.batch, 3, recorded.batch.cu_seqlens.size() - 1)};
  const auto device = open(GetParam());
  const auto engine = device->make_engine(engine_options(recorded, /*micro_batches=*/2));
  copy_state(recorded.cpu(), *engine);
  for (uint64_t step = 0; step < 3; ++step) {
    expect_close(update(*engine, parts, step), update(recorded.cpu(), parts, step), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Replicas, testing::Values(2, 4));

}  // namespace
}  // namespace berth
