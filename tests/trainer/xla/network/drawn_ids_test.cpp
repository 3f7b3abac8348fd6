// The ids that a generator's program draws.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/trainer/xla/stablehlo/interpreter.h"
#include "trainer/xla/network/losses.h"

namespace berth {
namespace {

using stablehlo::Array;

// One row of probabilities for each number.
std::vector<double> drawn(const std::vector<double>& probabilities,
                          const std::vector<double>& numbers, int64_t label = 0) {
  Graph graph;
  const auto rows = static_cast<int64_t>(numbers.size());
  const auto vocabulary = static_cast<int64_t>(probabilities.size());
  BatchInputs batch;
  batch.draws = graph.parameter(ElementType::kF32, {rows});
  batch.labels = graph.parameter(ElementType::kS32, {rows});
  const Value logits = graph.parameter(ElementType::kF32, {rows, vocabulary});
  std::vector<double> all;
  for (int64_t i = 0; i < rows; ++i) {
    for (const double p : probabilities) all.push_back(p > 0 ? std::log(p) : -2000);
  }
  const std::vector<Value> outputs = {drawn_ids(batch, logits)};
  const stablehlo::Inputs inputs = {
      {batch.draws.index(), Array::of({rows}, numbers)},
      {batch.labels.index(),
       Array::ids({rows}, std::vector<uint64_t>(numbers.size(), static_cast<uint64_t>(label)))},
      {logits.index(), Array::of({rows, vocabulary}, all)}};
  return interpret(outputs, inputs)[0].numbers;
}

TEST(DrawnIds, AreTheFirstUpToWhichProbabilitiesExceedTheNumber) {
  EXPECT_EQ(drawn({0.25, 0.5, 0.25}, {0, 0.2, 0.3, 0.7, 0.8, 0.999}),
            (std::vector<double>{0, 0, 1, 1, 2, 2}));
}

TEST(DrawnIds, AreFoundInLaterBlocks) {
  std::vector<double> probabilities(700, 0.0);
  probabilities[255] = 0.25;
  probabilities[256] = 0.25;
  probabilities[699] = 0.5;
  EXPECT_EQ(drawn(probabilities, {0, 0.2, 0.3, 0.49, 0.51, 0.9}),
            (std::vector<double>{255, 255, 256, 256, 699, 699}));
}

// A number that was rounded to 1.
TEST(DrawnIds, AreTheLikeliestBehindTheEnd) {
  EXPECT_EQ(drawn({0.2, 0.7, 0.1, 0}, {1.5}), (std::vector<double>{1}));
}

TEST(DrawnIds, ThereAreNoneWithoutALabel) {
  EXPECT_EQ(drawn({0.5, 0.5}, {0.1, 0.9}, -1), (std::vector<double>{-1, -1}));
}

}  // namespace
}  // namespace berth
