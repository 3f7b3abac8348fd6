// Compares the XLA engine with the CPU engine.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "tests/trainer/xla/xla_case.h"

namespace berth {
namespace {

class EngineParity : public WithXlaDevice, public testing::WithParamInterface<std::string> {};

TEST_P(EngineParity, LogitsAndThenTenUpdatesWithDropout) {
  RecordedCase recorded(GetParam(), /*drops=*/true);
  const auto device = open();
  const auto engine = device->make_engine(engine_options(recorded));
  Engine& cpu = recorded.cpu();
  copy_state(cpu, *engine);
  LossSum found{.loss = 2, .weight = 1}, loss = found;
  const std::vector<float> expected = cpu.infer(recorded.batch, loss);
  const std::vector<float> logits = engine->infer(recorded.batch, found);
  EXPECT_NEAR(found.loss, loss.loss, 1e-4 * loss.loss);
  EXPECT_NEAR(found.weight, loss.weight, 1e-6);
  ASSERT_EQ(logits.size(), expected.size());
  float largest = 0;
  for (const float logit : expected) largest = std::max(largest, std::abs(logit));
  for (size_t i = 0; i < logits.size(); ++i) {
    ASSERT_NEAR(logits[i], expected[i], 1e-4 * largest) << i;
  }
  for (uint64_t step = 0; step < 10; ++step) {
    SCOPED_TRACE(step);
    const UpdateOutcome of_cpu = update(cpu, {&recorded.batch, 1}, step);
    expect_close(update(*engine, {&recorded.batch, 1}, step), of_cpu, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, EngineParity,
                         testing::Values("bert-sequence", "bert-sets", "roberta-score",
                                         "xlm-roberta-sequence", "xlm-roberta-qa", "distilbert-qa",
                                         "electra-masked", "albert-sequence", "deberta-v2-token",
                                         "deberta-v2-convolved-sequence"),
                         test_name);

// Ten updates with an option of training, of one batch or of its parts as micro-batches.
class EngineParityOfOptions : public WithXlaDevice {
 protected:
  void expect_equal_updates(RecordedCase& recorded, const std::vector<PackedBatch>& parts) {
    const auto device = open();
    const auto engine =
        device->make_engine(engine_options(recorded, static_cast<int64_t>(parts.size())));
    copy_state(recorded.cpu(), *engine);
    for (uint64_t step = 0; step < 10; ++step) {
      SCOPED_TRACE(step);
      const UpdateOutcome of_cpu = update(recorded.cpu(), parts, step);
      expect_close(update(*engine, parts, step), of_cpu, 1e-4);
    }
  }
};

TEST_F(EngineParityOfOptions, Lora) {
  RecordedCase recorded("roberta-sequence", /*drops=*/true);
  recorded.options.lora = {.rank = 3, .alpha = 6, .dropout = 0.25, .target_modules = "all-linear"};
  expect_equal_updates(recorded, {recorded.batch});
}

TEST_F(EngineParityOfOptions, Lamb) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  recorded.options.optimizer.type = OptimizerType::kLamb;
  expect_equal_updates(recorded, {recorded.batch});
}

TEST_F(EngineParityOfOptions, Accumulation) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  expect_equal_updates(recorded,
                       {part_of(recorded.batch, 0, 2),
                        part_of(recorded.batch, 2, recorded.batch.cu_seqlens.size() - 1)});
}

class EngineBf16 : public WithXlaDevice {};

TEST_F(EngineBf16, TenUpdatesAreCloseToFp32) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  const auto device = open(1, DType::kBF16);
  EXPECT_EQ(device->info().precision, Precision::kBf16);
  const auto engine = device->make_engine(engine_options(recorded));
  copy_state(recorded.cpu(), *engine);
  for (uint64_t step = 0; step < 10; ++step) {
    const UpdateOutcome expected = update(recorded.cpu(), {&recorded.batch, 1}, step);
    const UpdateOutcome found = update(*engine, {&recorded.batch, 1}, step);
    EXPECT_NEAR(found.loss_sum, expected.loss_sum, 0.01 * expected.loss_sum);
    EXPECT_NEAR(found.grad_norm, expected.grad_norm, 0.01 * expected.grad_norm);
  }
}

}  // namespace
}  // namespace berth
