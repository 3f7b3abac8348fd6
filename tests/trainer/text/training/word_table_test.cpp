#include "trainer/text/training/word_table.h"

#include <gmock/gmock.h>

#include "tests/trainer/text/training/words_in_table.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

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
