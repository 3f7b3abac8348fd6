// Compares the programs with the CPU engine. An interpreter runs them, so no plugin is needed.

#include <gtest/gtest.h>

#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "tests/trainer/xla/network/compare_updates.h"

namespace berth {
namespace {

class Parity : public testing::TestWithParam<std::string> {};

TEST_P(Parity, LogitsAndLossMatchTheCpu) {
  RecordedCase recorded(GetParam(), /*drops=*/false);
  LossSum loss;
  const std::vector<float> expected = recorded.cpu().infer(recorded.batch, loss);
  NamedArrays arrays = recorded.values();
  arrays.merge(recorded.inputs({}));
  run(inference_program(recorded.options, recorded.shape()), arrays);
  const stablehlo::Array& logits = arrays.at("logits");
  std::vector<double> found = logits.numbers;
  if (logits.type.rank() == 3) {
    found = recorded.tokens_of(logits);
  } else {
    found.resize(expected.size());  // without padding
  }
  expect_close(found, expected, largest(expected), "logits");
  EXPECT_NEAR(arrays.at("sums").numbers[0], loss.loss, kTolerance * loss.loss);
  EXPECT_NEAR(arrays.at("sums").numbers[1], loss.weight, kTolerance);
}

TEST_P(Parity, UpdatesWithDropoutMatchTheCpu) {
  RecordedCase recorded(GetParam(), /*drops=*/true);
  expect_equal_updates(recorded, 3);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Parity, testing::ValuesIn(kRecordedCases), test_name);

}  // namespace
}  // namespace berth
