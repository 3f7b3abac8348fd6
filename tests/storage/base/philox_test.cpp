#include "storage/base/philox.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Words = std::array<uint32_t, 4>;

// The answers are those of "philox4x32 10" in Random123's kat_vectors.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsAConstantExpression) {
  static_assert(philox4x32({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
  static_assert(philox_key(1, 2, 3) != philox_key(1, 3, 2));
}

TEST(Philox, KeysDifferInSeedStepAndPurpose) {
  const auto key = philox_key(1, 2, 3);
  EXPECT_NE(key, philox_key(2, 2, 3));
  EXPECT_NE(key, philox_key(1ull << 40 | 1, 2, 3));
  EXPECT_NE(key, philox_key(1, 1ull << 32 | 2, 3));
  EXPECT_NE(key, philox_key(1, 2, 4));
}

}  // namespace
}  // namespace berth
