#include "trainer/metrics/reranking.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/trainer/metrics/recorded_cases.h"

namespace berth {
namespace {

// Recorded by tests/record/record_reranking.py. One list has no relevant passage. The second
// ranking has equal scores.
TEST(RerankingMetricsTest, AreThoseOfSentenceTransformers) {
  const Json cases = recorded_cases("reranking");
  for (const Json& recorded : cases["rankings"]) {
    RerankingMetrics metrics;
    for (const Json& list : recorded["lists"]) {
      std::vector<ListedPassage> passages;
      for (const Json& passage : list) passages.push_back({passage[0], passage[1]});
      metrics.add(passages);
    }
    const auto means = metrics.metrics();
    for (const auto& [name, value] : recorded["metrics"].items()) {
      EXPECT_NEAR(means.at(name), value.get<double>(), 1e-9) << name;
    }
  }
}

TEST(RerankingMetricsTest, OfEqualScoresTheReciprocalRankTakesTheWorstOrder) {
  RerankingMetrics metrics;
  metrics.add(std::vector<ListedPassage>{{0.5, 1}, {0.5, 0}, {0.1, 0}});
  EXPECT_EQ(metrics.metrics().at("mrr_at_10"), 0.5);
}

TEST(RerankingMetricsTest, GradesCountInNdcg) {
  RerankingMetrics metrics;
  const std::vector<ListedPassage> passages = {{0.9, 1}, {0.5, 3}, {0.1, 0}};
  // (1 + 3 / log2(3)) / (3 + 1 / log2(3))
  EXPECT_NEAR(metrics.add(passages), 0.7967075809905066, 1e-12);
}

}  // namespace
}  // namespace berth
