#include "trainer/text/training/merge_pairs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/training/train.h"
#include "trainer/text/unicode.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

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

TokenizerTrainingOptions bpe(int64_t vocab_size, int64_t min_frequency = 1) {
  return sized(vocab_size, min_frequency, TokenizerType::kBpe);
}

TEST(TrainByteLevel, TheVocabularyIsSpecialTokensThenBytesThenMerges) {
  const Files files = files_of(train({"low low lower"}, bpe(5 + 256 + 4)));
  EXPECT_THAT(
      files.at("vocab.json"),
      StartsWith(
          "{\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<unk>\": 3, \"<mask>\": 4, \"!\": 5, "));
  EXPECT_THAT(files.at("vocab.json"), HasSubstr("\"Ń\": 260, \"lo\": 261, \"low\": 262, "));
  EXPECT_EQ(files.at("merges.txt"), lines({"#version: 0.2", "l o", "lo w", "Ġ low", "e r"}));
}

TEST(TrainByteLevel, AllFormsOfTheFilesAreTheSameTokenizer) {
  const Files all = files_of(train({"low low lower"}, bpe(5 + 256 + 4)));
  Files json = all, text = all;
  json.erase("vocab.json");
  text.erase("tokenizer.json");
  for (const Files& files : {all, json, text}) {
    EXPECT_THAT(ids(*load(files), "low lower <mask>"), ElementsAre(0, 262, 263, 264, 4, 2));
  }
}

TEST(TrainByteLevel, TextThatWasNeverSeenIsSpelledInBytes) {
  const auto tokenizer = load(files_of(train({"a"}, bpe(300))));
  EXPECT_EQ(ids(*tokenizer, "\xE4\xBA\xBA").size(), 2u + 3u);
}

TEST(TrainByteLevel, MalformedBytesAreTrainedAsReplacementCharacters) {
  const TrainedTokenizer trained = train({"\xFF\xFF", "\xFF"}, bpe(261 + 2, 2));
  EXPECT_EQ(trained.text.malformed, 3u);
  EXPECT_EQ(ids(*load(files_of(trained)), "\xEF\xBF\xBD").size(), 3u);
}

TEST(TrainByteLevel, TheFilesDoNotDependOnTheNumberOfThreads) {
  const std::vector<std::string> rows = rows_of_many_words();
  const Files one = files_of(train(rows, bpe(400)));
  for (const int threads : {2, 7}) EXPECT_EQ(files_of(train(rows, bpe(400), threads)), one);
}

TEST(TrainByteLevel, AVocabularyWithoutRoomForTheBytesIsAUsageError) {
  EXPECT_THAT([] { train({"a"}, bpe(260)); }, ThrowsCode(Code::kUsage, "give at least 261"));
}

TEST(TrainByteLevel, ThereIsNoLowerCase) {
  TokenizerTrainingOptions options = bpe(300);
  options.lowercase = true;
  EXPECT_THAT([&] { train({"a"}, options); }, ThrowsCode(Code::kUsage, "lower case"));
}

TEST(TrainWordPiece, TheVocabularyIsSpecialTokensThenCharactersThenMerges) {
  const TrainedTokenizer trained = train({"Ab ab abc", "ab b"}, sized(12));
  EXPECT_EQ(files_of(trained)["vocab.txt"], lines({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
                                                   "a", "b", "c", "##b", "##c", "ab", "abc"}));
  EXPECT_EQ(trained.vocab_size, 12);
  EXPECT_EQ(trained.distinct_words, 3u);
}

TEST(TrainWordPiece, TheTokenizerLoadsFromItsFiles) {
  const auto tokenizer = load(files_of(train({"Ab ab abc", "ab b"}, sized(12))));
  EXPECT_THAT(ids(*tokenizer, "AB abc cb [MASK]"), ElementsAre(2, 10, 11, 7, 8, 4, 3));
}

TEST(TrainWordPiece, TokenizerJsonAloneIsTheSameTokenizer) {
  const Files files = files_of(train({"Ab ab abc", "ab b"}, sized(12)));
  const auto tokenizer = load({{"tokenizer.json", files.at("tokenizer.json")}});
  EXPECT_THAT(ids(*tokenizer, "AB abc cb [MASK]"), ElementsAre(2, 10, 11, 7, 8, 4, 3));
}

TEST(TrainWordPiece, CaseIsKeptOnRequest) {
  TokenizerTrainingOptions options = sized(99);
  options.lowercase = false;
  const Files files = files_of(train({"Éa"}, options));
  EXPECT_EQ(files.at("vocab.txt"),
            lines({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "É", "##a", "Éa"}));
  EXPECT_THAT(files.at("tokenizer_config.json"), testing::HasSubstr("\"do_lower_case\": false"));
}

TEST(TrainWordPiece, RareCharactersBecomeUnknown) {
  std::vector<std::string> rows;
  for (int i = 0; i < 1000; ++i) {
    const std::string c = to_utf8(static_cast<char32_t>(0xA000 + i));
    rows.push_back(c + " " + c);
  }
  rows.push_back("z");
  const Files files = files_of(train(rows, sized(2000)));
  EXPECT_EQ(files.at("vocab.txt").find("\nz\n"), std::string::npos);
  EXPECT_THAT(ids(*load(files), "z"), ElementsAre(2, 1, 3));
}

TEST(TrainWordPiece, TheFilesDoNotDependOnTheNumberOfThreads) {
  std::vector<std::string> rows = rows_of_many_words();
  const Files one = files_of(train(rows, sized(200)));
  for (const int threads : {2, 7}) {
    EXPECT_EQ(files_of(train(rows, sized(200), threads)), one);
  }
  std::reverse(rows.begin(), rows.end());
  EXPECT_EQ(files_of(train(rows, sized(200))), one);
}

TEST(TrainWordPiece, AShortTextGivesASmallerVocabulary) {
  EXPECT_EQ(train({"ab ab"}, sized(30'000, 2)).vocab_size, 5 + 3 + 1);
  EXPECT_EQ(train({"ab ab"}, sized(30'000, 3)).vocab_size, 5 + 3);
}

TEST(TrainWordPiece, AVocabularyWithoutRoomForTheCharactersIsAUsageError) {
  EXPECT_THAT(
      [] { train({"ab ab abc"}, sized(9)); },
      ThrowsCode(Code::kUsage, "the 5 special tokens and the 5 pieces of single characters"));
  EXPECT_THAT([] { train({"ab ab abc"}, sized(9)); }, ThrowsCode(Code::kUsage, "give at least 10"));
}

TEST(TrainWordPiece, TextsWithoutWordsAreBadData) {
  EXPECT_THAT([] { train({}); }, ThrowsCode(Code::kBadData, "no word"));
  EXPECT_THAT([] { train({"", " \t"}); }, ThrowsCode(Code::kBadData, "no word"));
}

}  // namespace
}  // namespace berth
