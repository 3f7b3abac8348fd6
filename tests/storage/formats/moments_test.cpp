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

Cell decimal_of(std::string_view bytes, int32_t scale) {
  const CellMaker maker({.type = PhysicalType::kFixedByteArray,
                         .type_length = static_cast<int32_t>(bytes.size()),
                         .meaning = Meaning::kDecimal,
                         .scale = scale});
  Cell cell;
  maker.make({.bytes = bytes}, cell);
  return cell;
}

TEST(Decimals, WithoutAFractionKeepTheirDigits) {
  using namespace std::string_view_literals;
  EXPECT_EQ(decimal_of("\0\0\0\0\0\0\0\0\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"sv, 0), Cell(kLast));
  EXPECT_EQ(decimal_of("\0\0\0\0\0\0\0\0\x80\0\0\0\0\0\0\0"sv, 0), Cell("9223372036854775808"));
  EXPECT_EQ(decimal_of("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x80\0\0\0\0\0\0\0"sv, 0), Cell(kFirst));
  EXPECT_EQ(decimal_of("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE\0\0\0\0\0\0\0\0"sv, 0),
            Cell("-36893488147419103232"));
  EXPECT_EQ(decimal_of("\xFF"sv, 0), Cell(int64_t{-1}));
  EXPECT_EQ(decimal_of("\xF6"sv, 0), Cell(int64_t{-10}));
  EXPECT_EQ(decimal_of("\x7D"sv, 2), Cell(1.25));
}

}  // namespace
}  // namespace berth::columnar
