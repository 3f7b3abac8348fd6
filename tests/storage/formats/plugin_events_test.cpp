#include "storage/formats/plugin_events.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

// The records of tests/testdata/plugins.tfevents, which tensorboard's own messages made
// (tests/record/record_plugin_events.py).
TEST(PluginEvents, AreThoseOfTensorboardByteForByte) {
  const std::string golden = read_text(BERTH_TESTDATA "/plugins.tfevents");
  const HParam hparams[] = {
      {"batch-size", 16.0}, {"lr-scheduler-type", std::string("linear")}, {"recompute", true}};
  const HistogramBucket buckets[] = {{-1, 0, 3}, {0, 1, 5}};
  const float curve[] = {3, 1, 2, 0, 0, 2, 0, 2, 0.6f, 1, 1, 0.25f};
  const std::string png("\x89PNG\0", 5);
  const ImageSummary image = {
      .width = 12, .height = 7, .png = as_bytes(png), .description = "rows are *true* classes"};
  std::string written;
  for (const auto& record : {hparams_event(1700000001.25, hparams), hparams_end_event(1700000002.5),
                             histogram_event(1700000003.0, 300, "encoder.layer.0/bias", buckets),
                             pr_curve_event(1700000004.0, 301, "pr_curves/spam", curve),
                             image_event(1700000005.0, 302, "confusion_matrix", image)}) {
    written += as_text(record);
  }
  EXPECT_EQ(written, golden);
}

std::vector<HistogramBucket> buckets_of(const std::vector<float>& values, size_t count) {
  ValueHistogram histogram(count);
  histogram.widen(values);
  histogram.count(values);
  return histogram.buckets();
}

TEST(ValueHistogram, CountsEveryFiniteValueOnce) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto buckets = buckets_of({-2, -1, 0, 1, 2, infinity, NAN}, 2);
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].left, -2);
  EXPECT_EQ(buckets[0].right, 0);
  EXPECT_EQ(buckets[0].count, 2);
  EXPECT_EQ(buckets[1].right, 2);
  EXPECT_EQ(buckets[1].count, 3);
}

TEST(ValueHistogram, HasOneBucketForEqualValuesAndNoneForNone) {
  const auto equal = buckets_of({3, 3}, 5);
  ASSERT_EQ(equal.size(), 1U);
  EXPECT_EQ(equal[0].left, 2.5);
  EXPECT_EQ(equal[0].count, 2);
  EXPECT_TRUE(buckets_of({}, 5).empty());
  EXPECT_TRUE(buckets_of({NAN}, 5).empty());
}

}  // namespace
}  // namespace berth
