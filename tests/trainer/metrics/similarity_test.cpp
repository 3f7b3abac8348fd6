#include "trainer/metrics/similarity.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

TEST(SimilarityMetrics, IsTheMeanCosine) {
  SimilarityMetrics metrics;
  metrics.add(std::vector<float>{2, 0}, std::vector<float>{0.5, 0});  // the same direction
  metrics.add(std::vector<float>{1, 1}, std::vector<float>{1, 0});    // 45 degrees
  metrics.add(std::vector<float>{0, -3}, std::vector<float>{0, 1});   // opposite
  EXPECT_NEAR(metrics.metrics().at("cosine_similarity"), 0.70710678 / 3, 1e-7);
}

TEST(SimilarityMetrics, AZeroVectorCountsAsZero) {
  SimilarityMetrics metrics;
  EXPECT_EQ(metrics.metrics().at("cosine_similarity"), 0);
  metrics.add(std::vector<float>{0, 0}, std::vector<float>{1, 0});
  metrics.add(std::vector<float>{1, 0}, std::vector<float>{1, 0});
  EXPECT_EQ(metrics.metrics().at("cosine_similarity"), 0.5);
}

}  // namespace
}  // namespace berth
