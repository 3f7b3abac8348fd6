#include "trainer/corpus/words.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

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
