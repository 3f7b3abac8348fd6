#include "storage/formats/snappy.h"

#include <gtest/gtest.h>

#include "tests/support/bundle_files.h"
#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::string decoded(const std::string& compressed) {
  return std::string(as_text(snappy_decode(as_bytes(compressed))));
}

TEST(Snappy, DecodesLiterals) {
  EXPECT_EQ(decoded(bytes({0})), "");
  EXPECT_EQ(decoded(bytes({3, 2 << 2}) + "abc"), "abc");
  const std::string hundred(100, 'x'), thousand(1000, 'y');
  EXPECT_EQ(decoded(bytes({100, 60 << 2, 99}) + hundred), hundred);
  EXPECT_EQ(decoded(bytes({0xE8, 7, 61 << 2, 0xE7, 3}) + thousand), thousand);
  EXPECT_EQ(decoded(bytes({0xE8, 7, 62 << 2, 0xE7, 3, 0}) + thousand), thousand);
  EXPECT_EQ(decoded(bytes({0xE8, 7, 63 << 2, 0xE7, 3, 0, 0}) + thousand), thousand);
}

TEST(Snappy, DecodesCopies) {
  const std::string abcd = bytes({3 << 2}) + "abcd";
  EXPECT_EQ(decoded(bytes({8}) + abcd + bytes({0 << 2 | 1, 4})), "abcdabcd");
  EXPECT_EQ(decoded(bytes({6}) + abcd + bytes({1 << 2 | 2, 3, 0})), "abcdbc");
  EXPECT_EQ(decoded(bytes({5}) + abcd + bytes({0 << 2 | 3, 4, 0, 0, 0})), "abcda");
}

TEST(Snappy, ACopyMayReadWhatItWrites) {
  EXPECT_EQ(decoded(bytes({9, 1 << 2}) + "ab" + bytes({6 << 2 | 2, 2, 0})), "ababababa");
}

TEST(Snappy, AnOffsetMayTakeElevenBits) {
  const std::string text = "start" + std::string(295, '.');
  const std::string literal = bytes({0xB0, 2, 61 << 2, 0x2B, 1}) + text;
  EXPECT_EQ(decoded(literal + bytes({1 << 5 | 0 << 2 | 1, 300 - 256})), text + "star");
}

TEST(Snappy, RefusesCopiesFromBeforeTheStart) {
  EXPECT_THAT(
      [] {
        decoded(bytes({8, 0, 'a', 1, 2}));
      },
      ThrowsCode(Code::kCorrupt, "2 bytes back"));
  EXPECT_THAT(
      [] {
        decoded(bytes({8, 0, 'a', 1, 0}));
      },
      ThrowsCode(Code::kCorrupt, "0 bytes back"));
}

TEST(Snappy, RefusesAnotherSizeThanAnnounced) {
  EXPECT_THAT([] { decoded(bytes({2, 0, 'a'})); }, ThrowsCode(Code::kCorrupt, "1 of the 2"));
  EXPECT_THAT([] { decoded(bytes({0, 0, 'a'})); }, ThrowsCode(Code::kCorrupt, "more than the 0"));
}

TEST(Snappy, RefusesAHugeSizeBeforeAllocatingIt) {
  EXPECT_THAT(
      [] {
        decoded(bytes({0xFF, 0xFF, 0xFF, 0xFF, 0x0F}));
      },
      ThrowsCode(Code::kCorrupt, "4294967295"));
}

TEST(Snappy, EveryPrefixIsRefused) {
  const std::string file = bytes({9, 1 << 2}) + "ab" + bytes({6 << 2 | 2, 2, 0});
  EXPECT_TRUE(accepted_prefixes(as_bytes(file), [](Bytes b) { snappy_decode(b); }).empty());
  accepted_flips(as_bytes(file), [](Bytes b) { snappy_decode(b); });
}

}  // namespace
}  // namespace berth
