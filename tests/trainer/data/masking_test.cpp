#include "trainer/data/masking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "storage/base/error.h"
#include "storage/base/philox.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// A tokenizer that knows its vocabulary and puts id 0 before and id 1 behind a text.
class ListedTokenizer final : public Tokenizer {
 public:
  explicit ListedTokenizer(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}

  int32_t vocab_size() const override { return static_cast<int32_t>(tokens_.size()); }
  Encoding encode(std::string_view, std::optional<std::string_view>,
                  const EncodeOptions&) const override {
    return {.input_ids = {0, 1}, .token_type_ids = {0, 0}, .offsets = {}};
  }
  std::string token(int32_t id) const override { return tokens_[static_cast<size_t>(id)]; }
  std::vector<File> files() const override { return {}; }

 private:
  const std::vector<std::string> tokens_;
};

// 5 special tokens, 300 beginnings of words and 200 continuations.
constexpr int32_t kCls = 0, kSep = 1, kMask = 2, kFirst = 5, kContinued = 305, kSize = 505;

ListedTokenizer word_pieces() {
  std::vector<std::string> tokens = {"[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"};
  for (int i = kFirst; i < kContinued; ++i) tokens.push_back("w" + std::to_string(i));
  for (int i = kContinued; i < kSize; ++i) tokens.push_back("##c" + std::to_string(i));
  return ListedTokenizer(std::move(tokens));
}

// [CLS], words of one to four pieces, [SEP]: `length` tokens.
std::vector<int32_t> sequence(uint64_t number, size_t length) {
  std::vector<int32_t> ids = {kCls};
  while (ids.size() + 1 < length) {
    const auto random = philox4x32({low_word(number), static_cast<uint32_t>(ids.size()), 0, 0}, {});
    const bool continues = ids.size() > 1 && random[0] % 10 < 3;
    ids.push_back(continues ? kContinued + static_cast<int32_t>(random[1] % 200)
                            : kFirst + static_cast<int32_t>(random[1] % 300));
  }
  ids.push_back(kSep);
  return ids;
}

struct Masked {
  std::vector<int32_t> before, after;
  PackedBatch::MaskedTokens tokens;
};

Masked masked(const Masking& masking, const MaskingRound& round, uint64_t number, size_t length) {
  Masked result{.before = sequence(number, length), .after = {}, .tokens = {}};
  result.after = result.before;
  masking.mask(round, number, result.after, 0, result.tokens);
  return result;
}

struct Counts {
  double tokens = 0, chosen = 0, masked = 0, same = 0, other = 0;
};
Counts count(const Masking& masking, size_t length, double tokens) {
  Counts counts;
  for (uint64_t number = 0; counts.tokens < tokens; ++number) {
    const Masked made = masked(masking, MaskingRound::of_epoch(3), number, length);
    counts.tokens += static_cast<double>(length - 2);
    counts.chosen += static_cast<double>(made.tokens.tokens.size());
    for (size_t i = 0; i < made.tokens.tokens.size(); ++i) {
      const int32_t now = made.after[static_cast<size_t>(made.tokens.tokens[i])];
      if (now == kMask) {
        ++counts.masked;
      } else {
        ++(now == made.tokens.ids[i] ? counts.same : counts.other);
      }
    }
  }
  return counts;
}

void expect_shares(const Masking& masking) {
  constexpr double kTolerance = 4e-3;
  const Counts counts = count(masking, 512, 1e6);
  EXPECT_NEAR(counts.chosen / counts.tokens, 0.15, kTolerance);
  // A random token is the same as before, or [MASK], once in kSize times.
  EXPECT_NEAR(counts.masked / counts.chosen, 0.8 + 0.1 / kSize, kTolerance);
  EXPECT_NEAR(counts.other / counts.chosen, 0.1 * (1 - 2.0 / kSize), kTolerance);
  EXPECT_NEAR(counts.same / counts.chosen, 0.1 + 0.1 / kSize, kTolerance);
  const Counts of_short = count(masking, 47, 5e5);
  EXPECT_NEAR(of_short.chosen / of_short.tokens, 0.15, kTolerance);
}

TEST(Masking, ChoosesFifteenPercentAndHidesEightyTenTen) {
  expect_shares(Masking(word_pieces(), {}));
}

TEST(Masking, HidesInOtherSharesWhereTheOptionsSaySo) {
  const Masking masking(word_pieces(), {.masked_share = 0.85, .random_share = 0});
  const Counts counts = count(masking, 512, 1e6);
  EXPECT_NEAR(counts.masked / counts.chosen, 0.85, 3e-3);
  EXPECT_EQ(counts.other, 0);
}

TEST(Masking, ChoosesWholeWordsInTheSameShares) {
  expect_shares(Masking(word_pieces(), {.whole_words = true}));
}

TEST(Masking, NeverSplitsAWholeWord) {
  const Masking masking(word_pieces(), {.whole_words = true});
  for (uint64_t number = 0; number < 2000; ++number) {
    const Masked made = masked(masking, MaskingRound::of_epoch(0), number, 80);
    const std::set<int32_t> chosen(made.tokens.tokens.begin(), made.tokens.tokens.end());
    for (int32_t place = 2; place < 79; ++place) {
      if (made.before[static_cast<size_t>(place)] < kContinued) continue;
      EXPECT_EQ(chosen.contains(place), chosen.contains(place - 1)) << number << " " << place;
    }
  }
}

TEST(Masking, NeverChoosesASpecialToken) {
  const Masking masking(word_pieces(), {.probability = 1});
  const Masked made = masked(masking, MaskingRound::of_evaluation(), 5, 30);
  EXPECT_EQ(made.tokens.tokens.size(), 28);
  EXPECT_EQ(made.after.front(), kCls);
  EXPECT_EQ(made.after.back(), kSep);
  std::vector<int32_t> specials = {kCls, kMask, 3, 4, 1000, -1, kSep};
  const std::vector<int32_t> before = specials;
  PackedBatch::MaskedTokens none;
  EXPECT_EQ(masking.mask({}, 0, specials, 0, none), 0);
  EXPECT_EQ(specials, before);
  EXPECT_TRUE(none.tokens.empty());
}

TEST(Masking, ChoosesAtLeastOneTokenOfAShortSequence) {
  for (const bool whole_words : {false, true}) {
    const Masking masking(word_pieces(), {.whole_words = whole_words});
    std::set<size_t> numbers;
    for (uint64_t number = 0; number < 200; ++number) {
      std::vector<int32_t> ids = {kCls, 10, kContinued, kContinued + 1, 20, kSep};
      PackedBatch::MaskedTokens found;
      masking.mask(MaskingRound::of_epoch(1), number, ids, 0, found);
      numbers.insert(found.tokens.size());
      EXPECT_TRUE(!whole_words || found.tokens == std::vector<int32_t>{4});
    }
    EXPECT_EQ(numbers, std::set<size_t>{1});
  }
}

TEST(Masking, IsAFunctionOfSeedEpochAndSequence) {
  const Masking masking(word_pieces(), {.seed = 1}), again(word_pieces(), {.seed = 1});
  const Masking other(word_pieces(), {.seed = 2});
  const auto told = [](const Masking& some, const MaskingRound& round, uint64_t number) {
    std::vector<int32_t> ids = sequence(9, 200);  // the same text under different numbers
    PackedBatch::MaskedTokens found;
    some.mask(round, number, ids, 0, found);
    return ids;
  };
  const auto first = told(masking, MaskingRound::of_epoch(0), 7);
  EXPECT_EQ(told(again, MaskingRound::of_epoch(0), 7), first);
  EXPECT_NE(told(other, MaskingRound::of_epoch(0), 7), first);
  EXPECT_NE(told(masking, MaskingRound::of_epoch(1), 7), first);
  EXPECT_NE(told(masking, MaskingRound::of_epoch(0), 8), first);
  EXPECT_NE(told(masking, MaskingRound::of_epoch(0), 7 + (uint64_t{1} << 32)), first);
  EXPECT_NE(told(masking, MaskingRound::of_evaluation(), 7), first);
  EXPECT_EQ(told(masking, MaskingRound::of_evaluation(), 7),
            told(other, MaskingRound::of_evaluation(), 7));
}

TEST(Masking, CountsPlacesFromTheFirstTokenInIncreasingOrder) {
  const Masking masking(word_pieces(), {});
  std::vector<int32_t> ids = sequence(1, 100);
  const std::vector<int32_t> before = ids;
  PackedBatch::MaskedTokens found{.tokens = {3}, .ids = {9}};
  masking.mask({}, 1, ids, 50, found);
  ASSERT_GT(found.tokens.size(), 10);
  EXPECT_EQ(found.tokens[0], 3);
  EXPECT_TRUE(std::ranges::is_sorted(found.tokens));
  for (size_t i = 1; i < found.tokens.size(); ++i) {
    EXPECT_EQ(found.ids[i], before[static_cast<size_t>(found.tokens[i] - 50)]);
  }
}

TEST(Masking, StaysWithinTheNumberThatMemoryIsTakenFor) {
  for (const double probability : {0.01, 0.15, 0.5, 1.0}) {
    for (const bool whole_words : {false, true}) {
      const Masking masking(word_pieces(),
                            {.probability = probability, .whole_words = whole_words});
      for (const size_t length : {3, 5, 10, 64}) {
        for (uint64_t number = 0; number < 50; ++number) {
          const Masked made = masked(masking, {}, number, length);
          EXPECT_LE(static_cast<int64_t>(made.tokens.tokens.size()),
                    Masking::most_masked(probability, static_cast<int64_t>(length), 1));
        }
      }
    }
  }
}

TEST(TokenRoles, AreReadFromTheMarksOfTheVocabulary) {
  using enum TokenRole;
  EXPECT_EQ(token_roles(ListedTokenizer({"[CLS]", "[SEP]", "[MASK]", "a", "##b", "##", "##c", ""})),
            (std::vector{kSpecial, kSpecial, kSpecial, kBegins, kContinues, kBegins, kContinues,
                         kSpecial}));
  EXPECT_EQ(token_roles(ListedTokenizer({"<s>", "</s>", "<mask>", "Ġa", "b", "Ġ", "##", "."})),
            (std::vector{kSpecial, kSpecial, kSpecial, kBegins, kContinues, kBegins, kContinues,
                         kContinues}));
  EXPECT_EQ(token_roles(ListedTokenizer({"x", "</s>", "<mask>", "▁a", "b", "▁"})),
            (std::vector{kSpecial, kSpecial, kSpecial, kBegins, kContinues, kBegins}));
  EXPECT_EQ(token_roles(ListedTokenizer({"x", "y", "[MASK]", "a", "b"})),
            (std::vector{kSpecial, kSpecial, kSpecial, kBegins, kBegins}));
}

TEST(TokenRoles, PiecesOfScriptsWithoutSpacesAreWords) {
  using enum TokenRole;
  const ListedTokenizer pieces(
      {"<s>", "</s>", "▁", "▁東京", "大学", "で", "。", "ไทย", "한국", "a"});
  EXPECT_EQ(token_roles(pieces),
            (std::vector{kSpecial, kSpecial, kBegins, kStandsAlone, kStandsAlone, kStandsAlone,
                         kStandsAlone, kStandsAlone, kContinues, kContinues}));
  EXPECT_EQ(token_roles(pieces, Unspaced::kInSpaces),
            (std::vector{kSpecial, kSpecial, kBegins, kBegins, kContinues, kContinues, kContinues,
                         kContinues, kContinues, kContinues}));
  // 東 is E6 9D B1 in UTF-8, and é C3 A9. Tokens of bytes may end inside a character.
  EXPECT_EQ(
      token_roles(ListedTokenizer({"<s>", "</s>", "Ġa", "æĿ±", "Ġæ", "Ŀ±", "æĿ", "Ã", "Ã©", "b"})),
      (std::vector{kSpecial, kSpecial, kBegins, kStandsAlone, kStandsAlone, kCompletes,
                   kStandsAlone, kContinues, kContinues, kContinues}));
  // A WordPiece vocabulary of Japanese marks the words that another program found.
  EXPECT_EQ(token_roles(ListedTokenizer({"[CLS]", "[SEP]", "東", "##京", "ไ", "##ทย"})),
            (std::vector{kSpecial, kSpecial, kBegins, kContinues, kStandsAlone, kStandsAlone}));
}

TEST(Masking, HidesWordsOfScriptsWithoutSpaces) {
  std::vector<std::string> tokens = {"[CLS]", "[SEP]", "[MASK]", "▁", "a"};
  for (const char* piece : {"東京", "大学", "で", "学ぶ", "。"}) tokens.push_back(piece);
  std::vector<int32_t> line = {0, 3};
  for (int32_t i = 0; i < 30; ++i) line.push_back(5 + i % 5);
  line.push_back(1);
  const auto hidden = [&](Unspaced unspaced) {
    const Masking masking(ListedTokenizer(tokens), {.whole_words = true, .unspaced = unspaced});
    std::vector<int32_t> ids = line;
    PackedBatch::MaskedTokens masked;
    masking.mask(MaskingRound::of_epoch(0), 0, ids, 0, masked);
    return masked.tokens.size();
  };
  EXPECT_GE(hidden(Unspaced::kByPieces), 4u);
  EXPECT_EQ(hidden(Unspaced::kInSpaces), 0u);
}

TEST(TokenRoles, AVocabularyWithoutAMaskIsRefused) {
  EXPECT_EQ(mask_id(ListedTokenizer({"a", "b", "<mask>"})), 2);
  EXPECT_THAT([] { mask_id(ListedTokenizer({"a", "b"})); }, ThrowsCode(Code::kBadData));
}

}  // namespace
}  // namespace berth
