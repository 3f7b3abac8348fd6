#include "trainer/loop/vector_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace berth {
namespace {

std::vector<float> coded(const VectorCode& code, std::vector<float> vector) {
  code.apply(vector);
  return vector;
}

ValueRanges ranges_of(const std::vector<std::vector<float>>& vectors) {
  ValueRanges ranges;
  for (const std::vector<float>& vector : vectors) ranges.add(vector);
  return ranges;
}

TEST(VectorCode, RangesHoldTheLowestAndTheHighestOfEachNumber) {
  const ValueRanges ranges = ranges_of({{1, -2}, {0.5, 4}, {3, 0}});
  EXPECT_THAT(ranges.lowest, testing::ElementsAre(0.5f, -2));
  EXPECT_THAT(ranges.highest, testing::ElementsAre(3, 4));
}

// numpy.random.default_rng(7).normal(size=(4, 8)), rounded to three digits, and what
// quantize_embeddings() of sentence-transformers 6.2 makes of it.
const std::vector<std::vector<float>> kVectors = {
    {0.001f, 0.299f, -0.274f, -0.891f, -0.455f, -0.992f, 0.06f, 1.34f},
    {-0.492f, -0.62f, 0.49f, 0.357f, 0.105f, -0.93f, -0.029f, 0.695f},
    {-1.344f, -0.458f, -1.901f, -1.29f, -1.842f, -0.235f, -1.267f, 0.271f},
    {0.157f, -0.187f, -2.517f, -0.539f, -0.049f, 0.113f, -1.53f, -0.478f},
};

TEST(VectorCode, EqualsSentenceTransformers) {
  const ValueRanges ranges = ranges_of(kVectors);
  const std::map<EmbeddingsType, std::vector<std::vector<float>>> expected = {
      {EmbeddingsType::kInt8,
       {{100, 127, 62, -67, 53, -128, 127, 127},
        {16, -128, 127, 126, 127, -114, 112, 36},
        {-128, -84, -76, -128, -128, 46, -86, -23},
        {127, -8, -128, -12, 106, 126, -128, -128}}},
      {EmbeddingsType::kUint8,
       {{228, 255, 190, 61, 181, 0, 255, 255},
        {144, 0, 255, 254, 255, 14, 240, 164},
        {0, 44, 52, 0, 0, 174, 42, 105},
        {255, 120, 0, 116, 234, 254, 0, 0}}},
      {EmbeddingsType::kBinary, {{67}, {-71}, {-127}, {4}}},
      {EmbeddingsType::kUbinary, {{195}, {57}, {1}, {132}}},
  };
  for (const auto& [type, vectors] : expected) {
    for (size_t i = 0; i < kVectors.size(); ++i) {
      EXPECT_EQ(coded({type, ranges}, kVectors[i]), vectors[i]) << name_of(type) << i;
    }
  }
}

TEST(VectorCode, ValuesBeyondTheRangeAreItsEnds) {
  const ValueRanges ranges = ranges_of({{-1}, {1}});
  EXPECT_THAT(coded({EmbeddingsType::kInt8, ranges}, {7}), testing::ElementsAre(127));
  EXPECT_THAT(coded({EmbeddingsType::kInt8, ranges}, {-7}), testing::ElementsAre(-128));
  EXPECT_THAT(coded({EmbeddingsType::kUint8, ranges}, {7}), testing::ElementsAre(255));
  EXPECT_THAT(coded({EmbeddingsType::kUint8, ranges}, {-7}), testing::ElementsAre(0));
}

TEST(VectorCode, ANumberThatNeverChangesIsTheLowest) {
  EXPECT_THAT(coded({EmbeddingsType::kInt8, ranges_of({{2}, {2}})}, {2}),
              testing::ElementsAre(-128));
}

TEST(VectorCode, Float32StaysAsItIs) {
  EXPECT_THAT(coded({}, {0.1f, -3}), testing::ElementsAre(0.1f, -3));
  EXPECT_EQ(VectorCode{}.width(12), 12u);
  EXPECT_EQ(VectorCode{.type = EmbeddingsType::kBinary}.width(16), 2u);
}

}  // namespace
}  // namespace berth
