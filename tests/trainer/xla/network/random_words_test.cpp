#include "trainer/xla/network/random_words.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/trainer/xla/stablehlo/interpreter.h"

namespace berth {
namespace {

using stablehlo::Array;
using stablehlo::ElementType;
using stablehlo::Graph;
using stablehlo::Value;

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
