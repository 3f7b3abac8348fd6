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
                                         "distilbert-qa", "electra-masked", "albert-sequence",
                                         "deberta-v2-token", "deberta-v2-convolved-sequence"),
                         test_name);

class EngineBf16 : public WithXlaDevice {};

TEST_F(EngineBf16, TenUpdatesAreCloseToFp32) {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  const auto device = open(1, DType::kBF16);
  EXPECT_EQ(device->info().product_dtype, DType::kBF16);
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
