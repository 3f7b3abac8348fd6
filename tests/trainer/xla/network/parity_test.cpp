// Compares the programs with the CPU engine. An interpreter runs them, so no plugin is needed.

#include <gtest/gtest.h>

#include "storage/base/error.h"
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

// The cases that devices compute: all but multiple choice.
std::vector<std::string> cases_of_devices() {
  std::vector<std::string> cases = kRecordedCases;
  std::erase_if(
      cases, [](const std::string& name) { return recorded_task(name) == Task::kMultipleChoice; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Recorded, Parity, testing::ValuesIn(cases_of_devices()), test_name);

TEST(ParityOfGroups, MultipleChoiceIsRefused) {
  RecordedCase recorded("bert-choice", /*drops=*/false);
  EXPECT_THROW(inference_program(recorded.options, recorded.shape()), Error);
}

}  // namespace
}  // namespace berth
