#include "trainer/metrics/threshold_counts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace berth {
namespace {

TEST(ThresholdCounts, CountsWhatEachThresholdWouldPredict) {
  ThresholdCounts counts;
  counts.add(1, true);
  counts.add(0.75, true);
  counts.add(0.75, false);
  counts.add(0.5025, true);  // between two thresholds
  counts.add(0, false);
  EXPECT_EQ(counts.examples(), 5);
  const auto at = counts.at_thresholds();
  const auto expect = [&](size_t threshold, int64_t hits, int64_t predicted) {
    EXPECT_EQ(at[threshold].true_positives, hits) << threshold;
    EXPECT_EQ(at[threshold].predicted, predicted) << threshold;
    EXPECT_EQ(at[threshold].support, 3) << threshold;
  };
  expect(0, 3, 5);  // everything
  expect(1, 3, 4);
  expect(100, 3, 4);  // from 0.5 on
  expect(101, 2, 3);
  expect(150, 2, 3);  // from 0.75 on
  expect(151, 1, 1);
  expect(200, 1, 1);
  EXPECT_DOUBLE_EQ(at[150].precision(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(at[150].recall(), 2.0 / 3);
}

TEST(ThresholdCounts, DoesNotCountWhatIsNoNumber) {
  ThresholdCounts counts;
  counts.add(NAN, true);
  counts.add(2, true);
  EXPECT_EQ(counts.examples(), 1);
  EXPECT_EQ(counts.at_thresholds()[200].predicted, 1);
  EXPECT_EQ(ThresholdCounts().at_thresholds()[0].precision(), 0);
}

}  // namespace
}  // namespace berth
