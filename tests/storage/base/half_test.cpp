#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "storage/base/dtype.h"

namespace berth {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Half, EveryValueIsTheSameAfterAFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (std::isnan(from_f16(half))) {
      EXPECT_TRUE(std::isnan(from_f16(to_f16(from_f16(half))))) << bits;
    } else {
      EXPECT_EQ(to_f16(from_f16(half)), half);
    }
    if (std::isnan(from_bf16(half))) {
      EXPECT_TRUE(std::isnan(from_bf16(to_bf16(from_bf16(half))))) << bits;
    } else {
      EXPECT_EQ(to_bf16(from_bf16(half)), half);
    }
  }
}

// A number between two neighbours becomes the nearer one. Halfway between them it becomes the even
// one.
template <typename To, typename From>
void expect_nearest(To to, From from, uint16_t low) {
  const auto high = static_cast<uint16_t>(low + 1);
  const float a = from(low), b = from(high), middle = a + (b - a) / 2;
  EXPECT_EQ(to(middle), low % 2 == 0 ? low : high) << low;
  EXPECT_EQ(to(std::nextafter(middle, a)), low) << low;
  EXPECT_EQ(to(std::nextafter(middle, b)), high) << low;
}

TEST(Half, RoundsToTheNearest) {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) expect_nearest(to_f16, from_f16, bits);
  for (uint32_t bits = 0x80; bits < 0x7f7f; ++bits) {
    expect_nearest(to_bf16, from_bf16, static_cast<uint16_t>(bits));
  }
}

TEST(Half, ANumberThatIsTooLargeBecomesInfinite) {
  EXPECT_EQ(from_f16(to_f16(65519.0f)), 65504.0f);
  EXPECT_EQ(from_f16(to_f16(65520.0f)), kInfinity);
  EXPECT_EQ(from_f16(to_f16(-1e30f)), -kInfinity);
  EXPECT_EQ(from_bf16(to_bf16(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_EQ(from_bf16(to_bf16(-kInfinity)), -kInfinity);
}

TEST(Half, ANanWithOnlyLowBitsStaysNan) {
  const auto nan = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(nan))));
  EXPECT_TRUE(std::isnan(from_f16(to_f16(nan))));
}

}  // namespace
}  // namespace berth
