#include "storage/base/utf8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;

std::vector<char32_t> decoded(std::string_view text) {
  std::vector<char32_t> found;
  while (!text.empty()) {
    const DecodedCharacter next = decode_utf8(text);
    found.push_back(next.code_point);
    text.remove_prefix(next.size_bytes);
  }
  return found;
}

TEST(Utf8, EveryCharacterReadsBackAsWritten) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    char bytes[4];
    const size_t size = encode_utf8(c, bytes);
    const DecodedCharacter found = decode_utf8({bytes, size});
    ASSERT_EQ(found.code_point, c);
    ASSERT_EQ(found.size_bytes, size);
    ASSERT_EQ(previous_character({bytes, size}, size), 0u);
  }
}

TEST(Utf8, MalformedSequencesAreReplacedAsPythonDoes) {
  EXPECT_THAT(decoded("a\xFF"), ElementsAre('a', 0xFFFD));
  EXPECT_THAT(decoded("\xE4\xB8"), ElementsAre(0xFFFD));
  EXPECT_THAT(decoded("\xF0\x9F\x98x"), ElementsAre(0xFFFD, 'x'));
  EXPECT_THAT(decoded("\xC0\xAF"), ElementsAre(0xFFFD, 0xFFFD));
  EXPECT_THAT(decoded("\xED\xA0\x80"), ElementsAre(0xFFFD, 0xFFFD, 0xFFFD));
  EXPECT_THAT(decoded("\xF4\x90\x80\x80"), ElementsAre(0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD));
}

TEST(Utf8, ReplacementCharacterItselfIsValid) {
  EXPECT_FALSE(find_invalid_utf8("a\xEF\xBF\xBD"));
  EXPECT_TRUE(find_invalid_utf8("a\xEF\xBF"));
}

TEST(Utf8, MalformedBytesBeforeAnEndStandAlone) {
  EXPECT_EQ(previous_character("a\x80\x80", 3), 2u);
  EXPECT_EQ(previous_character("\xFF", 1), 0u);
}

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
