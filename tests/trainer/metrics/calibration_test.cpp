#include "trainer/metrics/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

namespace berth {
namespace {

TEST(Calibration, IsTheMeanDistanceOfConfidenceAndAccuracy) {
  Calibration calibration;
  EXPECT_EQ(calibration.error(), 0);
  calibration.add(0.75, true);
  calibration.add(0.75, false);
  calibration.add(1, true);
  calibration.add(1, true);
  // The first bin is 0.25 too sure for two of four predictions; the last one is right.
  EXPECT_DOUBLE_EQ(calibration.error(), 0.125);
  EXPECT_EQ(calibration.bins()[7].count, 2);
  EXPECT_EQ(calibration.bins()[9].right, 2);
}

TEST(Calibration, DoesNotCountWhatIsNoNumber) {
  Calibration calibration;
  calibration.add(NAN, true);
  calibration.add(2, true);
  EXPECT_EQ(calibration.predictions(), 1);
  EXPECT_EQ(calibration.bins()[9].count, 1);
}

}  // namespace
}  // namespace berth
