#include "trainer/corpus/clean_text.h"

#include <gtest/gtest.h>

#include "trainer/text/unicode.h"

namespace berth {
namespace {

std::string cleaned(std::string_view text) {
  std::string out;
  clean_text(text, out);
  return out;
}

TEST(CleanText, RunsOfBlanksBecomeOneSpace) {
  EXPECT_EQ(cleaned("a  b\t\tc"), "a b c");
  EXPECT_EQ(cleaned("  a\xC2\xA0\xE3\x80\x80"
                    "b "),
            "a b");  // no-break and ideographic space
  EXPECT_EQ(cleaned(" \t "), "");
}

TEST(CleanText, BlanksWithALineEndBecomeOneLineFeed) {
  EXPECT_EQ(cleaned("a \r\n \n b"), "a\nb");
  EXPECT_EQ(cleaned("a\xE2\x80\xA8"
                    "b\n"),
            "a\nb");  // U+2028
}

TEST(CleanText, ControlsAndInvisibleCharactersAreRemoved) {
  EXPECT_EQ(cleaned(std::string("a\0b\x1B[c\x7F", 7)), "ab[c");
  EXPECT_EQ(cleaned("\xEF\xBB\xBF"
                    "so\xC2\xAD"
                    "ft"),
            "soft");  // byte order mark, soft hyphen
  EXPECT_EQ(cleaned("a\xEF\xBF\xBD"
                    "b"),
            "ab");                   // U+FFFD
  EXPECT_EQ(cleaned("a\xC3"), "a");  // a malformed byte
}

TEST(CleanText, JoinersStay) {
  const std::string persian = "\xD9\x85\xDB\x8C\xE2\x80\x8C\xD8\xB1\xD9\x88\xD9\x85";
  EXPECT_EQ(cleaned(persian), persian);
}

// The expected texts are those of unicodedata.normalize("NFC", ...) in Python.
TEST(CleanText, IsInNormalizationFormC) {
  EXPECT_EQ(cleaned("Cafe\xCC\x81!"), "Caf\xC3\xA9!");
  EXPECT_EQ(cleaned("Caf\xC3\xA9"), "Caf\xC3\xA9");
  EXPECT_EQ(cleaned("\xE2\x84\xAB"), "\xC3\x85");                              // Angstrom sign
  EXPECT_EQ(cleaned("a\xCC\xA3\xCC\x82"), "\xE1\xBA\xAD");                     // two marks
  EXPECT_EQ(cleaned("a\xCC\x82\xCC\xA3"), "\xE1\xBA\xAD");                     // in the other order
  EXPECT_EQ(cleaned("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB"), "\xED\x95\x9C");  // Hangul
  EXPECT_EQ(cleaned("\xE0\xA7\x87\xE0\xA6\xBE"), "\xE0\xA7\x8B");              // Bengali
  EXPECT_EQ(cleaned("\xE0\xA5\x98"), "\xE0\xA4\x95\xE0\xA4\xBC");  // excluded from composition
  EXPECT_EQ(cleaned("\xCC\x81x"), "\xCC\x81x");                    // a mark with nothing before
}

TEST(CleanText, ARemovedCharacterDoesNotKeepAMarkFromItsLetter) {
  EXPECT_EQ(cleaned("e\xE2\x80\x8B\xCC\x81"), "\xC3\xA9");  // a zero width space between them
}

TEST(CleanText, CleaningAgainChangesNothing) {
  for (char32_t c = 1; c < 0x20000; c += 7) {
    const std::string letter = to_utf8(c);
    if (find_invalid_utf8(letter)) continue;
    const std::string once = cleaned("a" + letter + " e\xCC\x81" + letter);
    EXPECT_EQ(cleaned(once), once) << static_cast<uint32_t>(c);
  }
}

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  find_words(text, words);
  return words;
}

TEST(Words, AreRunsOfLettersMarksAndDigits) {
  const auto words = words_of("Two words, 3rd!\nna\xC3\xAFve");
  ASSERT_EQ(words.size(), 4u);
  EXPECT_EQ(words[0].characters, 3u);
  EXPECT_EQ(words[2].characters, 3u);
  EXPECT_EQ(words[3].characters, 5u);
  EXPECT_TRUE(words_of("... --- !").empty());
}

TEST(Words, IgnoreCase) {
  EXPECT_EQ(words_of("\xC3\x84pfel")[0].hash, words_of("\xC3\xA4PFEL")[0].hash);
  EXPECT_NE(words_of("ab")[0].hash, words_of("ba")[0].hash);
}

TEST(Words, AnIdeographIsAWord) { EXPECT_EQ(words_of("\xE4\xB8\xAD\xE6\x96\x87 ok").size(), 3u); }

TEST(Words, CharactersAreCounted) {
  std::vector<Word> words;
  const TextMeasures measures = find_words("\xC3\xA9t\xC3\xA9 1, x", words);
  EXPECT_EQ(measures.characters, 8u);
  EXPECT_EQ(measures.visible, 6u);
  EXPECT_EQ(measures.letters, 4u);
}

}  // namespace
}  // namespace berth
