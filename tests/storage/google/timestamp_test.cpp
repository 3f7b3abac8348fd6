#include "storage/google/timestamp.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Timestamp, CountsSecondsSince1970) {
  EXPECT_EQ(parse_timestamp("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_timestamp("2014-10-02T15:01:23Z"), 1412262083);
  EXPECT_EQ(parse_timestamp("2024-02-29T23:59:59z"), 1709251199);
}

TEST(Timestamp, MayHaveAFractionAndAnOffset) {
  EXPECT_DOUBLE_EQ(parse_timestamp("1970-01-01T00:00:01.25Z").value_or(0), 1.25);
  EXPECT_NEAR(parse_timestamp("1970-01-01T00:00:01.045123456Z").value_or(0), 1.045123456, 1e-9);
  EXPECT_EQ(parse_timestamp("1970-01-01T01:30:00+01:30"), 0);
  EXPECT_EQ(parse_timestamp("1969-12-31T19:00:00-05:00"), 0);
}

TEST(Timestamp, AnythingElseIsRefused) {
  for (const char* text :
       {"", "1970", "1970-01-01", "1970-01-01T00:00:00", "1970-13-01T00:00:00Z",
        "1970-02-30T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:61Z", "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00Zx",
        "1970-01-01 00:00:00Z", "1970-01-01T00:00:00+1:00", "+970-01-01T00:00:00Z"}) {
    EXPECT_EQ(parse_timestamp(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace berth
