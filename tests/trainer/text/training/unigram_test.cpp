#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/training/train.h"
#include "trainer/text/training/unigram_model.h"

namespace berth {
namespace {

using testing::ElementsAre;

UnigramWords words_of(const std::vector<std::string>& rows, double coverage = 1) {
  ThreadPool pool(1);
  TextStatistics statistics;
  return unigram_words(count_words(read_rows(rows), *unigram_training_words(), pool, statistics),
                       1000, coverage);
}

std::set<std::u32string> texts_of(const std::vector<UnigramPiece>& pieces) {
  std::set<std::u32string> texts;
  for (const UnigramPiece& piece : pieces) texts.insert(piece.text);
  return texts;
}

// All substrings of words that occur twice and that different things follow, by looking at each.
std::set<std::u32string> repeated_substrings(const UnigramWords& words) {
  std::map<std::u32string, std::set<char32_t>> followers;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::u32string_view word = words.word(i);
    for (size_t begin = 0; begin < word.size(); ++begin) {
      for (size_t size = 2; begin + size <= word.size(); ++size) {
        const std::u32string_view text = word.substr(begin, size);
        if (!is_unigram_piece(text)) continue;
        const char32_t next = begin + size < word.size()
                                  ? word[begin + size]
                                  : 0x110000 + static_cast<char32_t>(words.followers[i]);
        followers[std::u32string(text)].insert(next);
      }
    }
  }
  std::set<std::u32string> repeated;
  for (const auto& [text, next] : followers) {
    if (next.size() > 1) repeated.insert(text);
  }
  return repeated;
}

TEST(UnigramWords, BeginWithASpaceSignAndKnowWhatFollows) {
  const UnigramWords words = words_of({"ab  ab", "ab"});
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words.word(0), U"\u2581ab");
  EXPECT_EQ(words.word(1), U"\u2581ab");
  EXPECT_THAT(words.counts, ElementsAre(2, 1));
  EXPECT_THAT(words.followers, ElementsAre(Follower::kRowEnd, Follower::kSpace));
}

TEST(UnigramWords, AreCutAtCharactersThatTheAlphabetLacks) {
  const UnigramWords words = words_of({"abab", "abab", "aqb"}, 0.9);
  EXPECT_THAT(words.alphabet, ElementsAre(U'a', U'b', U'\u2581'));
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words.word(1), U"\u2581a");
  EXPECT_EQ(words.word(2), U"b");
}

TEST(UnigramWords, LongWordsAreCut) {
  const UnigramWords words = words_of({std::string(100, 'a')});
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words.word(0).size(), kLongestWord);
  EXPECT_EQ(words.word(2).size(), 101 - 2 * kLongestWord);
}

TEST(UnigramPieces, DoNotMixScriptsOrHoldInnerSpaces) {
  EXPECT_TRUE(is_unigram_piece(U"\u2581abc"));
  EXPECT_TRUE(is_unigram_piece(U"2,5"));
  EXPECT_TRUE(is_unigram_piece(U"\u6f22\u304b\u30ab"));
  EXPECT_FALSE(is_unigram_piece(U"a\u2581b"));
  EXPECT_FALSE(is_unigram_piece(U"a1"));
  EXPECT_FALSE(is_unigram_piece(U"a\u0431"));
  EXPECT_FALSE(is_unigram_piece(U"abcdefghijklmnopq"));
  EXPECT_FALSE(is_unigram_piece(U""));
}

TEST(UnigramSeeds, AreTheAlphabetAndTheRepeatedSubstrings) {
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    std::vector<std::string> rows;
    for (int i = 0; i < 40; ++i) {
      std::string row;
      for (size_t size = 1 + random() % 30; size > 0; --size) row += "aabbc, "[random() % 7];
      rows.push_back(row);
    }
    const UnigramWords words = words_of(rows);
    std::set<std::u32string> expected = repeated_substrings(words);
    for (const char32_t c : words.alphabet) expected.insert(std::u32string(1, c));
    EXPECT_EQ(texts_of(unigram_seeds(words, 100'000)), expected);
  }
}

TEST(UnigramSeeds, TheBestCoverTheMostCharacters) {
  const UnigramWords words = words_of({"xabcy zabcw xabcw qabcy", "de df"});
  const std::vector<UnigramPiece> seeds = unigram_seeds(words, 1);
  ASSERT_EQ(seeds.size(), words.alphabet.size() + 1);
  EXPECT_EQ(seeds.back().text, U"abc");
}

TEST(UnigramModel, FrequentPiecesOutliveOthers) {
  const UnigramWords words = words_of({"low lower lowest low lowly", "low new newer newest newly"});
  ThreadPool pool(1);
  UnigramModel model(words, unigram_seeds(words, 1000), pool);
  for (int i = 0; i < 6; ++i) {
    model.improve();
    model.prune(words.alphabet.size() + 2);
  }
  const std::set<std::u32string> texts = texts_of(model.pieces());
  EXPECT_EQ(texts.size(), words.alphabet.size() + 2);
  EXPECT_TRUE(texts.contains(U"\u2581low"));
  EXPECT_TRUE(texts.contains(U"\u2581new"));
  for (const char32_t c : words.alphabet) EXPECT_TRUE(texts.contains(std::u32string(1, c)));
}

TEST(UnigramModel, ScoresAreLogarithmsOfProbabilities) {
  const UnigramWords words = words_of(rows_of_many_words());
  ThreadPool pool(2);
  UnigramModel model(words, unigram_seeds(words, 1000), pool);
  for (int i = 0; i < 3; ++i) {
    model.improve();
    double total = 0;
    for (const UnigramPiece& piece : model.pieces()) total += std::exp(piece.score);
    EXPECT_GT(total, 0.9);  // the prior takes some of the probability of rare pieces
    EXPECT_LE(total, 1.0);
  }
}

TokenizerTrainingOptions unigram(int64_t vocab_size) {
  return sized(vocab_size, 1, TokenizerType::kUnigram);
}

TEST(TrainUnigram, TheTokenizerLoadsFromItsFiles) {
  const TrainedTokenizer trained = train(rows_of_many_words(), unigram(60));
  EXPECT_EQ(trained.vocab_size, 60);
  const auto tokenizer = load(files_of(trained));
  EXPECT_EQ(tokenizer->vocab_size(), 60);
  EXPECT_EQ(tokenizer->token(0), "<s>");
  EXPECT_EQ(tokenizer->token(3), "<unk>");
  EXPECT_EQ(tokenizer->token(59), "<mask>");
  const std::vector<int32_t> encoded = ids(*tokenizer, "row of <mask> \xE4\xBA\xBA");
  EXPECT_EQ(encoded.front(), 0);
  EXPECT_EQ(encoded.back(), 2);
  EXPECT_THAT(encoded, testing::Contains(59));
  EXPECT_THAT(encoded, testing::Contains(3));
}

TEST(TrainUnigram, TheFilesDoNotDependOnTheNumberOfThreads) {
  const std::vector<std::string> rows = rows_of_many_words();
  const Files one = files_of(train(rows, unigram(100)));
  for (const int threads : {2, 7}) EXPECT_EQ(files_of(train(rows, unigram(100), threads)), one);
}

TEST(TrainUnigram, AShortTextGivesASmallerVocabulary) {
  EXPECT_EQ(train({"ab"}, unigram(1000)).vocab_size, 5 + 3);
}

TEST(TrainUnigram, AVocabularyWithoutRoomForTheCharactersIsAUsageError) {
  EXPECT_THAT([] { train({"abc"}, unigram(8)); }, ThrowsCode(Code::kUsage, "give at least 9"));
  EXPECT_THAT([] { train({" "}, unigram(8)); }, ThrowsCode(Code::kBadData, "no word"));
}

}  // namespace
}  // namespace berth
