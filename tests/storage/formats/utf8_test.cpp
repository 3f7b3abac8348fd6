#include "storage/formats/utf8.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

// Bytes on both sides of each border of the Unicode Standard's table 3-7.
constexpr std::string_view kBorders =
    "\x01\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4\xF5"
    "\xFF";

std::string of(char a, char b, char c, char d) { return {a, b, c, d}; }

TEST(Utf8, TellsTheFirstByteThatIsInvalid) {
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("caf\xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8(std::string(70, 'a') + "\xC3"), 70u);
  EXPECT_EQ(find_invalid_utf8(std::string(70, 'a') + "\xED\xA0\x80"), 70u);  // a surrogate
  EXPECT_EQ(find_invalid_utf8(std::string(70, 'a') + "\xF4\x90\x80\x80"), 70u);
  EXPECT_EQ(find_invalid_utf8("\xC0\xAF"), 0u);  // overlong
}

// Words of 16 bytes are judged at once. Each sequence lies across the border between two of them,
// inside and outside a block of four, and at the end of the text.
TEST(Utf8, VectorsJudgeEverySequenceAsThePlainLoopDoes) {
  for (const size_t before : {13, 62}) {
    std::string text(before + 4, 'x');
    for (const char a : kBorders) {
      for (const char b : kBorders) {
        for (const char c : kBorders) {
          for (const char d : kBorders) {
            text.replace(before, 4, of(a, b, c, d));
            ASSERT_EQ(find_invalid_utf8(text), find_invalid_utf8_portable(text))
                << testing::PrintToString(text);
          }
        }
      }
    }
  }
}

TEST(Utf8, ASequenceThatABlockEndsMayGoOnInTheNext) {
  for (const std::string_view sequence : {"\xC3\xA9", "\xE6\x97\xA5", "\xF0\x9F\x98\x80"}) {
    for (size_t before = 60; before < 64; ++before) {
      for (size_t cut = 0; cut < sequence.size(); ++cut) {
        std::string text = std::string(before, 'x') + std::string(sequence) + std::string(80, 'y');
        EXPECT_EQ(find_invalid_utf8(text), std::nullopt);
        text.erase(before + cut, 1);
        EXPECT_EQ(find_invalid_utf8(text), before) << cut;
      }
    }
  }
}

}  // namespace
}  // namespace berth
