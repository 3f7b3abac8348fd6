#include <gtest/gtest.h>

#include <string>

#include "trainer/corpus/document_judge.h"

namespace berth {
namespace {

// Text of different words of five letters.
std::string distinct_words(int count, int first = 0) {
  std::string text;
  for (int i = first; i < first + count; ++i) {
    std::string word = "aaaaa";
    for (int rest = i, at = 4; rest > 0; rest /= 26, --at) {
      word[static_cast<size_t>(at)] = static_cast<char>('a' + rest % 26);
    }
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::optional<Repetition> find(const std::string& text, double share = RepetitionMeter::kGopher) {
  std::vector<Word> words;
  find_words(text, words);
  RepetitionMeter meter;
  return meter.find(text, words, share);
}

std::string rule(const std::string& text) {
  const auto found = find(text);
  return found ? found->of : "";
}

TEST(Repetition, OrdinaryTextHasNone) {
  EXPECT_EQ(rule(""), "");
  EXPECT_EQ(rule(distinct_words(200)), "");
  EXPECT_EQ(rule("New York, New York is a song about New York"), "");
}

TEST(Repetition, OfLinesIsMeasuredInLinesAndInCharacters) {
  EXPECT_EQ(rule("one\ntwo\none\none\n" + distinct_words(40)), "lines");
  const auto found = find("x\nx\n" + distinct_words(3), 0.09);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->share, 1.0 / 3);
  const std::string long_line = distinct_words(8);
  EXPECT_EQ(rule(long_line + "\na\nb\nc\nd\n" + long_line), "characters in repeated lines");
}

TEST(Repetition, OfTheMostFrequentPairOfWordsNeedsALongText) {
  std::string text = distinct_words(30);
  for (int i = 0; i < 7; ++i) text += " brown foxes " + distinct_words(3, 100 + 3 * i);
  EXPECT_EQ(rule(text), "the 2-gram");  // 70 of 325 characters
  EXPECT_EQ(rule("brown foxes and brown foxes"), "");
}

TEST(Repetition, OfLongRunsCountsEachCharacterOnce) {
  const std::string run = distinct_words(6);
  const auto found = find(run + " " + run);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->of, "repeated 5-grams");
  EXPECT_DOUBLE_EQ(found->share, 0.5);
  EXPECT_EQ(rule("buy now buy now buy now buy now"), "repeated 5-grams");
  EXPECT_EQ(rule(run + " " + distinct_words(60, 100) + " " + run), "");
}

TEST(Repetition, LimitsAreInProportionToTheFirst) {
  const std::string run = distinct_words(6), text = run + " " + run;  // a share of 0.5
  EXPECT_TRUE(find(text, 0.9));
  EXPECT_FALSE(find(text, 1.08));  // the limit of 6-grams is then 0.504
}

}  // namespace
}  // namespace berth
