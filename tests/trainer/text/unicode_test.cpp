#include "trainer/text/unicode.h"

#include <gmock/gmock.h>

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

TEST(Utf8Test, EveryCharacterReadsBackAsWritten) {
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

TEST(Utf8Test, MalformedSequencesAreReplacedAsPythonDoes) {
  EXPECT_THAT(decoded("a\xFF"), ElementsAre('a', 0xFFFD));
  EXPECT_THAT(decoded("\xE4\xB8"), ElementsAre(0xFFFD));
  EXPECT_THAT(decoded("\xF0\x9F\x98x"), ElementsAre(0xFFFD, 'x'));
  EXPECT_THAT(decoded("\xC0\xAF"), ElementsAre(0xFFFD, 0xFFFD));
  EXPECT_THAT(decoded("\xED\xA0\x80"), ElementsAre(0xFFFD, 0xFFFD, 0xFFFD));
  EXPECT_THAT(decoded("\xF4\x90\x80\x80"), ElementsAre(0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD));
}

TEST(Utf8Test, ReplacementCharacterItselfIsValid) {
  EXPECT_TRUE(is_valid_utf8("a\xEF\xBF\xBD"));
  EXPECT_FALSE(is_valid_utf8("a\xEF\xBF"));
}

TEST(Utf8Test, MalformedBytesBeforeAnEndStandAlone) {
  EXPECT_EQ(previous_character("a\x80\x80", 3), 2u);
  EXPECT_EQ(previous_character("\xFF", 1), 0u);
}

TEST(UnicodeTest, DecompositionIsFullAndOrdered) {
  const Characters parts = decompose(0x1E69);  // s with dot below and dot above
  ASSERT_EQ(parts.count, 3u);
  EXPECT_THAT(parts.items, ElementsAre('s', 0x323, 0x307, 0));
  EXPECT_EQ(decompose(0xAC01).count, 3u);
}

TEST(UnicodeTest, LowerCaseIsOfTheCharacterAlone) {
  EXPECT_EQ(lower_case(U'Σ').items[0], U'σ');
  EXPECT_EQ(lower_case(0x130).count, 2u);
  EXPECT_EQ(lower_case(0x130).items[1], char32_t{0x307});
  // utf8proc does not know this character.
  EXPECT_EQ(lower_case(0x16EA0).items[0], char32_t{0x16EBB});
}

}  // namespace
}  // namespace berth
