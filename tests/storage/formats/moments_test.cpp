#include <gtest/gtest.h>

#include <limits>

#include "storage/formats/columnar/cell_maker.h"

namespace berth::columnar {
namespace {

constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
constexpr int64_t kLast = std::numeric_limits<int64_t>::max();

TEST(Moments, TheFirstAndTheLastAreThoseOfPandas) {
  EXPECT_EQ(timestamp_text(kFirst + 1, TimeUnit::kNanos, false), "1677-09-21 00:12:43.145224193");
  EXPECT_EQ(timestamp_text(kFirst, TimeUnit::kNanos, false), "1677-09-21 00:12:43.145224192");
  EXPECT_EQ(timestamp_text(kLast, TimeUnit::kNanos, false), "2262-04-11 23:47:16.854775807");
}

TEST(Moments, EveryNumberGivesAText) {
  for (const int64_t ticks : {kFirst, int64_t{-1}, kLast}) {
    for (const TimeUnit unit :
         {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros, TimeUnit::kNanos}) {
      EXPECT_NE(timestamp_text(ticks, unit, true), "");
      EXPECT_NE(time_text(ticks, unit), "");
    }
  }
  EXPECT_EQ(julian_text(-1, 2'440'588), "1969-12-31 23:59:59.999999999");
  EXPECT_EQ(julian_text(kFirst, 2'440'588), "1677-09-21 00:12:43.145224192");
}

}  // namespace
}  // namespace berth::columnar
