#include "trainer/text/training/merge_pairs.h"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <string>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Words of ASCII letters, cut into letters.
struct Corpus {
  SymbolWords words;
  PieceList pieces{""};

  explicit Corpus(const std::vector<std::pair<std::string, uint64_t>>& counted) {
    for (char c = 'a'; c <= 'z'; ++c) pieces.add(std::string(1, c));
    for (const auto& [word, count] : counted) {
      for (const char c : word) words.symbols.push_back(c - 'a');
      words.end_word(count);
    }
  }

  std::vector<std::string> merge(size_t most, uint64_t min_frequency = 1) {
    merge_pairs(std::move(words), 26 + most, min_frequency, pieces);
    return {pieces.pieces().begin() + 26, pieces.pieces().end()};
  }
};

// The same by recounting all pairs before every merge.
std::vector<std::pair<int32_t, int32_t>> merge_slowly(const SymbolWords& flat, size_t most,
                                                      PieceList& pieces) {
  std::vector<std::vector<int32_t>> words;
  for (size_t i = 0; i < flat.ends.size(); ++i) {
    const auto begin = flat.symbols.begin();
    words.emplace_back(begin + static_cast<ptrdiff_t>(i == 0 ? 0 : flat.ends[i - 1]),
                       begin + static_cast<ptrdiff_t>(flat.ends[i]));
  }
  std::vector<std::pair<int32_t, int32_t>> merges;
  while (pieces.size() < most) {
    std::map<std::pair<int32_t, int32_t>, uint64_t> counts;
    for (size_t i = 0; i < words.size(); ++i) {
      for (size_t j = 0; j + 1 < words[i].size(); ++j) {
        counts[{words[i][j], words[i][j + 1]}] += flat.counts[i];
      }
    }
    if (counts.empty()) break;
    auto best = counts.begin();
    for (auto pair = counts.begin(); pair != counts.end(); ++pair) {
      if (pair->second > best->second) best = pair;
    }
    merges.push_back(best->first);
    const int32_t merged = pieces.join(best->first.first, best->first.second);
    for (std::vector<int32_t>& word : words) {
      for (size_t j = 0; j + 1 < word.size(); ++j) {
        if (std::pair(word[j], word[j + 1]) != best->first) continue;
        word[j] = merged;
        word.erase(word.begin() + static_cast<ptrdiff_t>(j) + 1);
      }
    }
  }
  return merges;
}

TEST(MergePairs, TheMostFrequentPairIsMergedFirst) {
  // The example of Sennrich et al. 2016, without the sign for the end of a word.
  Corpus corpus({{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}});
  EXPECT_THAT(corpus.merge(3), ElementsAre("es", "est", "lo"));
}

TEST(MergePairs, OfEquallyFrequentPairsTheSmallerIdsComeFirst) {
  Corpus corpus({{"zy", 3}, {"ab", 3}, {"ac", 3}});
  EXPECT_THAT(corpus.merge(3), ElementsAre("ab", "ac", "zy"));
}

TEST(MergePairs, PairsBelowTheFrequencyAreNotMerged) {
  Corpus corpus({{"ab", 3}, {"cd", 2}, {"ef", 1}});
  EXPECT_THAT(corpus.merge(9, 2), ElementsAre("ab", "cd"));
}

TEST(MergePairs, RunsOfOneLetterAreMergedFromTheLeft) {
  Corpus corpus({{"aaaaa", 1}});
  EXPECT_THAT(corpus.merge(9), ElementsAre("aa", "aaa", "aaaaa"));
}

TEST(MergePairs, ThePrefixOfASecondPieceIsDropped) {
  PieceList pieces("##");
  const int32_t a = pieces.add("a"), inside_a = pieces.add("##a"), inside_b = pieces.add("##b");
  SymbolWords words;
  words.symbols = {a, inside_b, inside_a};
  words.end_word(4);
  const auto merges = merge_pairs(std::move(words), 9, 1, pieces);
  EXPECT_THAT(pieces.pieces(), ElementsAre("a", "##a", "##b", "ab", "aba"));
  EXPECT_THAT(merges, ElementsAre(Pair(0, 2), Pair(3, 1)));
}

TEST(MergePairs, NoWordsGiveNoMerges) {
  Corpus corpus({});
  EXPECT_THAT(corpus.merge(9), ElementsAre());
}

TEST(MergePairs, AgreeWithRecountingAllPairs) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::pair<std::string, uint64_t>> words;
    const int letters = 2 + round % 5;
    for (int i = 0; i < 60; ++i) {
      std::string word;
      for (size_t size = 1 + random() % 12; size > 0; --size) {
        word += static_cast<char>('a' + random() % static_cast<unsigned>(letters));
      }
      words.emplace_back(word, 1 + random() % 9);
    }
    Corpus fast(words), slow(words);
    const auto expected = merge_slowly(slow.words, 26 + 150, slow.pieces);
    EXPECT_EQ(merge_pairs(std::move(fast.words), 26 + 150, 1, fast.pieces), expected);
    EXPECT_EQ(fast.pieces.pieces(), slow.pieces.pieces());
  }
}

}  // namespace
}  // namespace berth
