// Compares the programs with the CPU engine. An interpreter runs them, so no plugin is needed.

#include <gtest/gtest.h>

#include <algorithm>

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

INSTANTIATE_TEST_SUITE_P(
    Recorded, Parity,
    testing::Values("bert-sequence", "bert-token", "bert-masked", "bert-score", "bert-sets",
                    "bert-qa", "roberta-sequence", "roberta-token", "roberta-masked",
                    "roberta-score", "roberta-sets", "roberta-qa", "xlm-roberta-sequence",
                    "xlm-roberta-qa", "distilbert-sequence", "distilbert-token",
                    "distilbert-masked", "distilbert-qa", "electra-sequence", "electra-token",
                    "electra-masked", "electra-qa", "albert-sequence", "albert-token",
                    "albert-masked", "albert-qa", "deberta-v2-sequence", "deberta-v2-token",
                    "deberta-v2-masked", "deberta-v2-qa", "deberta-v2-biased-sequence",
                    "deberta-v2-convolved-sequence"),
    [](const testing::TestParamInfo<std::string>& test) {
      std::string name = test.param;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace berth
