#include "storage/formats/snappy.h"

#include <gtest/gtest.h>

#include "tests/support/bundle_files.h"
#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::string decoded(const std::string& compressed) {
  std::vector<std::byte> out;
  snappy_decode(as_bytes(compressed), out);
  return std::string(as_text(out));
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

// Literals and copies are moved by whole words where there is room for them, so all sizes, offsets
// and distances from the end are tried.
TEST(Snappy, EverySizeAndOffsetIsExact) {
  std::string literal;
  for (int i = 0; i < 60; ++i) literal += static_cast<char>('0' + i);
  for (int offset = 1; offset <= 60; ++offset) {
    for (int size = 1; size <= 64; ++size) {
      for (int behind = 1; behind <= 60; behind += 1 + behind / 4) {
        const std::string rest = literal.substr(0, static_cast<size_t>(behind));
        std::string expected = literal;
        for (int i = 0; i < size; ++i) {
          expected += expected[expected.size() - static_cast<size_t>(offset)];
        }
        expected += rest;
        const int total = static_cast<int>(expected.size());
        ASSERT_EQ(decoded(bytes({(total & 127) | 128, total >> 7, 59 << 2}) + literal +
                          bytes({(size - 1) << 2 | 2, offset, 0, (behind - 1) << 2}) + rest),
                  expected)
            << "size " << size << ", offset " << offset << ", " << behind << " bytes behind it";
      }
    }
  }
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
  const auto decode = [](Bytes b) {
    std::vector<std::byte> out;
    snappy_decode(b, out);
  };
  EXPECT_TRUE(accepted_prefixes(as_bytes(file), decode).empty());
  accepted_flips(as_bytes(file), decode);
}

}  // namespace
}  // namespace berth
