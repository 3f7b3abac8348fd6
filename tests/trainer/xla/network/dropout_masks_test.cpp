#include "trainer/xla/network/dropout_masks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "storage/base/philox.h"
#include "tests/trainer/xla/stablehlo/interpreter.h"

namespace berth {
namespace {

using stablehlo::Array;
using stablehlo::ElementType;
using stablehlo::Graph;
using stablehlo::Value;

constexpr uint64_t kSeed = 0xFEDCBA9876543210u, kStep = 0x100000007u;
constexpr uint32_t kLayers = 2;

// What element `i` of a row is multiplied by, as the contract of the CPU's kernels has it: the
// decision is half i % 2 of word i % 8 / 2 of the Philox counter (i / 8, stream, row).
double factor(double p, uint32_t site, uint32_t stream, uint64_t row, int64_t i) {
  const auto words =
      philox4x32({static_cast<uint32_t>(i / 8), stream, low_word(row), high_word(row)},
                 philox_key(kSeed, kStep, site));
  const uint32_t draw = words[static_cast<size_t>(i % 8 / 2)] >> (16 * (i % 2)) & 0xFFFFu;
  const auto threshold = static_cast<uint32_t>(std::lround(p * 65536));
  return draw < threshold ? 0
                          : static_cast<double>(65536.0f / static_cast<float>(65536 - threshold));
}

class DropoutMasksTest : public testing::Test {
 protected:
  Value input(const Array& array) {
    const Value parameter = graph_.parameter(array.type.element, array.type.shape);
    inputs_[parameter.index()] = array;
    return parameter;
  }
  std::vector<double> run(Value output) {
    return interpret(std::span<const Value>(&output, 1), inputs_)[0].numbers;
  }

  Graph graph_;
  stablehlo::Inputs inputs_;
  const Value step_words_ =
      input(Array::ids({4}, {low_word(kSeed), high_word(kSeed), low_word(kStep), high_word(kStep)},
                       ElementType::kU32));
  DropoutMasks masks_{step_words_, kLayers, /*together=*/true};
  DropoutMasks masks_of_layers_{step_words_, kLayers, /*together=*/false};
};

TEST_F(DropoutMasksTest, OfRowsMatchPhilox) {
  const std::vector<uint64_t> rows = {0, 5, 4294967295u};
  constexpr int64_t kColumns = 21;
  const Value numbers = input(Array::ids({3}, rows, ElementType::kU32));
  const Value ones = constant(graph_, 1, ElementType::kF32, {3, kColumns});
  for (const uint32_t site :
       {0u, 3u, 16u + 4u * kLayers - 1, 17u, 21u, 0x40000003u, 0x40000007u, 0x50000007u}) {
    for (const double p : {0.1, 0.5}) {
      const std::vector<double> found = run(masks_.drop(ones, p, site, numbers));
      EXPECT_EQ(run(masks_of_layers_.drop(ones, p, site, numbers)), found);
      for (int64_t r = 0; r < 3; ++r) {
        for (int64_t i = 0; i < kColumns; ++i) {
          ASSERT_EQ(found[static_cast<size_t>(r * kColumns + i)],
                    factor(p, site, 0, rows[static_cast<size_t>(r)], i))
              << site << ", row " << r << ", element " << i;
        }
      }
    }
  }
}

// A sequence of 16 tokens begins at column 8 of a row of 24. Keys are counted from there.
TEST_F(DropoutMasksTest, OfProbabilitiesCountKeysFromTheirSequence) {
  constexpr int64_t kHeads = 2, kLength = 24, kFirst = 8;
  std::vector<uint64_t> rows, blocks(kLength, kFirst / 8);
  for (uint64_t column = 0; column < kLength; ++column) rows.push_back(1000 + column);
  const Value ones = constant(graph_, 1, ElementType::kF32, {1, kHeads, kLength, kLength});
  const std::vector<double> found = run(masks_.drop_probabilities(
      ones, 0.3, 16, input(Array::ids({1, kLength}, rows, ElementType::kU32)),
      input(Array::ids({1, kLength}, blocks, ElementType::kU32))));
  for (uint32_t head = 0; head < kHeads; ++head) {
    for (int64_t query = kFirst; query < kLength; ++query) {
      for (int64_t key = kFirst; key < kLength; ++key) {
        ASSERT_EQ(found[static_cast<size_t>((head * kLength + query) * kLength + key)],
                  factor(0.3, 16, head, static_cast<uint64_t>(1000 + query), key - kFirst))
            << head << ", query " << query << ", key " << key;
      }
    }
  }
}

// Threefry drops as many as asked, other numbers than Philox and at other sites, and the same ones
// of a row wherever it lies.
TEST_F(DropoutMasksTest, ByThreefryDependOnTheSiteAndTheRowOnly) {
  constexpr int64_t kRows = 64, kColumns = 256;
  const auto drop = [&](DropoutMasks& masks, uint32_t site, uint64_t first_row, int64_t rows) {
    std::vector<uint64_t> numbers;
    for (int64_t r = 0; r < rows; ++r) numbers.push_back(first_row + static_cast<uint64_t>(r));
    return run(masks.drop(constant(graph_, 1, ElementType::kF32, {rows, kColumns}), 0.1, site,
                          input(Array::ids({rows}, numbers, ElementType::kU32))));
  };
  DropoutMasks masks(step_words_, kLayers, /*together=*/true, DropoutGenerator::kThreefry);
  DropoutMasks of_layers(step_words_, kLayers, /*together=*/false, DropoutGenerator::kThreefry);
  const std::vector<double> found = drop(masks, 17, 100, kRows);
  double dropped = 0, differ = 0;
  const std::vector<double> by_philox = drop(masks_, 17, 100, kRows);
  const std::vector<double> of_next_layer = drop(masks, 21, 100, kRows);
  for (size_t i = 0; i < found.size(); ++i) {
    dropped += found[i] == 0;
    differ += (found[i] == 0) != (by_philox[i] == 0);
    differ += (found[i] == 0) != (of_next_layer[i] == 0);
  }
  constexpr double kElements = kRows * kColumns;
  // Four standard deviations of a binomial distribution are 154 elements.
  EXPECT_NEAR(dropped, 0.1 * kElements, 154);
  EXPECT_NEAR(differ, 2 * 0.18 * kElements, 300);
  EXPECT_EQ(drop(of_layers, 21, 100, kRows), of_next_layer);
  const std::vector<double> last = drop(of_layers, 17, 100 + kRows - 1, 1);
  EXPECT_TRUE(std::equal(last.begin(), last.end(), found.end() - kColumns));
}

TEST_F(DropoutMasksTest, WithProbabilityZeroDropNothing) {
  const Value x = constant(graph_, 2, ElementType::kF32, {3, 4});
  EXPECT_EQ(masks_.drop(x, 0, 0, input(Array::ids({3}, {0, 1, 2}, ElementType::kU32))), x);
}

struct KnownAnswer {
  std::vector<uint64_t> counter, key, words;
};

// The published vectors of Random123, tests/kat_vectors.
const KnownAnswer kThreefryAnswers[] = {
    {{0, 0, 0, 0}, {0, 0, 0, 0}, {0x531c7e4f, 0x39491ee5, 0x2c855a92, 0x3d6abf9a}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xc4189358, 0x1c9cc83a, 0xd5881c67, 0x6a0a89e0}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89},
     {0x4aa71d8f, 0x734738c2, 0x431fc6a8, 0xae6debf1}}};

TEST(RandomWordsTest, ThreefryGivesTheKnownAnswers) {
  for (const KnownAnswer& answer : kThreefryAnswers) {
    Graph graph;
    stablehlo::Inputs inputs;
    const auto words_of = [&](const std::vector<uint64_t>& numbers) {
      RandomWords words;
      for (size_t i = 0; i < 4; ++i) {
        words[i] = graph.parameter(ElementType::kU32, {1});
        inputs[words[i].index()] = Array::ids({1}, {numbers[i]}, ElementType::kU32);
      }
      return words;
    };
    const RandomWords words = threefry4x32(words_of(answer.counter), words_of(answer.key));
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(interpret({&words[i], 1}, inputs)[0].words[0], answer.words[i]) << i;
    }
  }
}

}  // namespace
}  // namespace berth
