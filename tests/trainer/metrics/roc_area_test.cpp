#include "trainer/metrics/roc_area.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "storage/base/philox.h"

namespace berth {
namespace {

TEST(RocArea, IsTheShareOfPairsInTheRightOrder) {
  struct Example {
    float logit;
    bool is_positive;
  };
  std::vector<Example> examples;
  RocArea area;
  for (uint32_t i = 0; i < 500; ++i) {
    const auto random = philox4x32({i, 0, 0, 0}, {3, 4});
    const bool is_positive = random[0] % 4 == 0;
    const float logit = static_cast<float>(random[1] * 0x1p-29) - (is_positive ? 3.0f : 4.0f);
    examples.push_back({logit, is_positive});
    area.add(logit, is_positive);
  }
  double pairs = 0, right = 0;
  for (const Example& positive : examples) {
    for (const Example& negative : examples) {
      if (!positive.is_positive || negative.is_positive) continue;
      ++pairs;
      right += positive.logit > negative.logit ? 1 : 0;
    }
  }
  EXPECT_NEAR(area.area(), right / pairs, 1e-4);
}

TEST(RocArea, CountsATieHalfAndWeighs) {
  RocArea area;
  EXPECT_EQ(area.area(), 0.5);
  area.add(1, true);
  EXPECT_EQ(area.area(), 0.5);
  area.add(1, false);
  EXPECT_EQ(area.area(), 0.5);
  area.add(0, false, 3);
  EXPECT_EQ(area.area(), (0.5 + 3) / 4);
}

TEST(RocArea, TakesAnyLogit) {
  RocArea area;
  area.add(std::numeric_limits<float>::infinity(), true);
  area.add(-1e30f, false);
  area.add(std::numeric_limits<float>::quiet_NaN(), false);
  EXPECT_EQ(area.area(), 1);
}

}  // namespace
}  // namespace berth
