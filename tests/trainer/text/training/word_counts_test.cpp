#include "trainer/text/training/word_counts.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/trainer/text/training/words_in_table.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

std::map<std::string, uint64_t> count(const std::vector<std::string>& rows,
                                      const TrainingWords& words, TextStatistics& statistics,
                                      int threads = 1, const WordCountLimits& limits = {}) {
  ThreadPool pool(threads);
  return words_in(count_words(read_rows(rows, 3), words, pool, statistics, limits));
}

std::unique_ptr<TrainingWords> bert(size_t max_chars = 100) {
  return bert_training_words({}, max_chars);
}

// Rows in which word i occurs about 2,000 / i times.
std::vector<std::string> many_rows() {
  std::vector<std::string> rows;
  for (int i = 1; i <= 2000; ++i) {
    std::string row;
    for (int j = 1; j <= i; ++j) {
      if (i % j == 0) row += "w" + std::to_string(j) + " ";
    }
    rows.push_back(row);
  }
  return rows;
}

TEST(WordCounts, BertWordsAreNormalizedAndSplitAtPunctuation) {
  TextStatistics statistics;
  EXPECT_THAT(count({"Das Café, das", "Café!"}, *bert(), statistics),
              ElementsAre(Pair("!", 1), Pair(",", 1), Pair("cafe", 2), Pair("das", 2)));
  EXPECT_EQ(statistics.rows, 2u);
  EXPECT_EQ(statistics.bytes, 20u);
}

TEST(WordCounts, ByteLevelWordsKeepTheirSpace) {
  TextStatistics statistics;
  EXPECT_THAT(count({"I'm  in. In it"}, *byte_level_training_words(), statistics),
              ElementsAre(Pair(" ", 1), Pair(" In", 1), Pair(" in", 1), Pair(" it", 1),
                          Pair("'m", 1), Pair(".", 1), Pair("I", 1)));
}

TEST(WordCounts, AWordEndsWithItsRow) {
  TextStatistics statistics;
  EXPECT_THAT(count({"a", "b", "a"}, *bert(), statistics), ElementsAre(Pair("a", 2), Pair("b", 1)));
}

TEST(WordCounts, MalformedBytesAreReadAsReplacementCharactersAndCounted) {
  TextStatistics statistics;
  EXPECT_THAT(
      count({"a\xC3", "\xA9 b \xFF\xFE", "\xEF\xBF\xBD"}, *byte_level_training_words(), statistics),
      ElementsAre(Pair(" b", 1), Pair(" \xEF\xBF\xBD\xEF\xBF\xBD", 1), Pair("a", 1),
                  Pair("\xEF\xBF\xBD", 3)));
  EXPECT_EQ(statistics.malformed, 4u);
}

TEST(WordCounts, LongWordsAreLeftOutAndCounted) {
  TextStatistics statistics;
  EXPECT_THAT(count({"abcd abcde abcde"}, *bert(4), statistics), ElementsAre(Pair("abcd", 1)));
  EXPECT_EQ(statistics.long_words, 2u);
}

TEST(WordCounts, AreTheSameWithAnyNumberOfThreads) {
  const std::vector<std::string> rows = many_rows();
  TextStatistics one, five;
  const auto words = count(rows, *bert(), one);
  EXPECT_EQ(words.size(), 2000u);
  EXPECT_EQ(words.at("w7"), 285u);
  EXPECT_EQ(count(rows, *bert(), five, 5), words);
  EXPECT_EQ(five.bytes, one.bytes);
}

TEST(WordCounts, RareWordsAreRemovedAtTheSamePlacesWithAnyNumberOfThreads) {
  const std::vector<std::string> rows = many_rows();
  const WordCountLimits limits{.most_words = 300, .most_bytes = 100'000, .round_bytes = 2000};
  TextStatistics one, four;
  const auto words = count(rows, *bert(), one, 1, limits);
  EXPECT_LE(words.size(), 300u);
  EXPECT_GT(one.words_removed, 1500u);
  EXPECT_EQ(count(rows, *bert(), four, 4, limits), words);
  EXPECT_EQ(four.words_removed, one.words_removed);
  EXPECT_EQ(four.largest_deficit, one.largest_deficit);
  TextStatistics all;
  const auto exact = count(rows, *bert(), all);
  for (const auto& [word, times] : words) {
    EXPECT_LE(times, exact.at(word));
    EXPECT_GE(times + one.largest_deficit, exact.at(word)) << word;
  }
}

TEST(WordCounts, TheBytesOfWordsAreLimitedToo) {
  const WordCountLimits limits{.most_words = 100'000, .most_bytes = 1000, .round_bytes = 2000};
  TextStatistics statistics;
  size_t bytes = 0;
  for (const auto& [word, times] : count(many_rows(), *bert(), statistics, 2, limits)) {
    bytes += word.size();
  }
  EXPECT_LE(bytes, 1000u);
}

TEST(WordCounts, AFailureToReadIsThrown) {
  for (const int first : {0, 1}) {
    int calls = 0;
    const ReadTexts read = [&](TextBlock& block) -> bool {
      if (calls++ == first) throw std::runtime_error("gone");
      block.append("a");
      return true;
    };
    ThreadPool pool(2);
    TextStatistics statistics;
    EXPECT_THROW(count_words(read, *bert(), pool, statistics, {.round_bytes = 1}),
                 std::runtime_error);
  }
}

std::map<std::string, uint64_t> content(const WordTable& table) {
  std::map<std::string, uint64_t> words;
  for (const WordTable::Entry& entry : table.entries()) {
    words[std::string(table.word(entry))] = entry.count;
  }
  return words;
}

TEST(WordTable, AddsUpTheOccurrencesOfAWord) {
  WordTable table;
  table.add("a", 1);
  table.add("b", 2, 5);
  table.add("a", 1, 2);
  EXPECT_THAT(content(table), ElementsAre(Pair("a", 3), Pair("b", 5)));
}

TEST(WordTable, WordsWithEqualHashesAreTwoWords) {
  WordTable table;
  table.add("a", 7);
  table.add("b", 7);
  table.add("", 7);
  EXPECT_THAT(content(table), ElementsAre(Pair("", 1), Pair("a", 1), Pair("b", 1)));
}

TEST(WordTable, RemovingRareWordsKeepsTheOthersFindable) {
  WordTable table;
  for (int i = 0; i < 1000; ++i) {
    table.add("word" + std::to_string(i), static_cast<uint64_t>(i), i % 10 == 0 ? 3 : 1);
  }
  table.remove_rare(2);
  EXPECT_EQ(table.size(), 100u);
  for (int i = 0; i < 1000; i += 10) {
    table.add("word" + std::to_string(i), static_cast<uint64_t>(i), 4);
  }
  EXPECT_EQ(table.size(), 100u);
  for (const WordTable::Entry& entry : table.entries()) EXPECT_EQ(entry.count, 7u);
}

TEST(WordTable, AClearedTableIsEmpty) {
  WordTable table;
  table.add("a", 1);
  table.clear();
  table.add("b", 1);
  EXPECT_THAT(content(table), ElementsAre(Pair("b", 1)));
}

TEST(ShardedWordTable, EqualWordsMeetInOneShard) {
  ShardedWordTable table;
  for (uint64_t round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 500; ++i) table.add(std::to_string(i), i);
  }
  EXPECT_EQ(table.size(), 500u);
  for (const auto& [word, count] : words_in(table)) EXPECT_EQ(count, 3u) << word;
}

}  // namespace
}  // namespace berth
