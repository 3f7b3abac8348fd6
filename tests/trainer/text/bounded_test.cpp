#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/tokenizer_fixture.h"
#include "trainer/text/aligned_text.h"
#include "trainer/text/piece_table.h"
#include "trainer/text/unigram.h"

// A tokenizer takes time and memory in proportion to the text, whatever both contain. Where it did
// not, the long texts here would take hours.
namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string repeated(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

// A tokenizer.json with this normalizer, for texts of the words "hello" and "l".
std::unique_ptr<Tokenizer> with_normalizer(const std::string& normalizer) {
  return load(
      {{"tokenizer.json",
        R"({"added_tokens": [{"id": 3, "content": "<t>", "normalized": true, "special": false}],
            "normalizer": )" +
            normalizer +
            R"(, "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100,
                      "vocab": {"[UNK]": 0, "hello": 1, "l": 2}}})"}});
}

std::string replacing_l_by(size_t times) {
  return R"({"type": "Replace", "pattern": {"String": "l"}, "content": ")" + repeated("l", times) +
         "\"}";
}

std::vector<int32_t> ids_without_offsets(const Tokenizer& tokenizer, const std::string& text) {
  EncodeOptions options(1 << 22);
  options.add_special_tokens = false;
  return tokenizer.encode(text, std::nullopt, options).input_ids;
}

TEST(TrieTest, TheRootIsNoChildOfItself) {
  const std::string zeros(1 << 20, '\0');
  for (const Trie& trie : {Trie({}), Trie({{"a", 0}})}) {
    size_t found = 0;
    for (size_t i = 0; i < zeros.size(); ++i) {
      found += trie.longest(std::string_view(zeros).substr(i));
    }
    EXPECT_EQ(found, 0u);
  }
}

TEST(TrieTest, FindsTextsOfZeroBytes) {
  const Trie trie({{std::string_view("\0\0", 2), 7}});
  EXPECT_EQ(trie.longest(std::string_view("\0\0\0", 3)), 2u);
  EXPECT_EQ(trie.longest(std::string_view("\0a", 2)), 0u);
}

TEST(BoundedTest, ManyAddedTokensInALongText) {
  constexpr size_t kTimes = 100000;
  const auto tokenizer = with_normalizer(R"({"type": "Lowercase"})");
  EncodeOptions options(1 << 20);
  options.with_offsets = true;
  const Encoding encoding = tokenizer->encode(repeated("HELLO<t>", kTimes), std::nullopt, options);
  ASSERT_EQ(encoding.input_ids.size(), 2 * kTimes);
  EXPECT_EQ(encoding.input_ids[2 * kTimes - 2], 1);
  EXPECT_EQ(encoding.input_ids[2 * kTimes - 1], 3);
  EXPECT_EQ(encoding.offsets[2 * kTimes - 2], span_of(8 * kTimes - 8, 8 * kTimes - 3));
}

// BERT's steps work on parts of a long text, which must not show.
TEST(BoundedTest, ALongTextHasTheTokensOfItsParts) {
  const auto tokenizer =
      load({{"vocab.txt", lines({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "e", "##e", "\u65e5", "."})}});
  const std::string part = " E\u0301e\u65e5  e.\u0301 \u0301e";
  const size_t times = (size_t{3} << 16) / part.size();
  EncodeOptions options(1 << 22);
  options.with_offsets = true;
  options.add_special_tokens = false;
  const Encoding one = tokenizer->encode(part, std::nullopt, options);
  const Encoding all = tokenizer->encode(repeated(part, times), std::nullopt, options);
  const size_t tokens = one.input_ids.size();
  ASSERT_EQ(all.input_ids.size(), times * tokens);
  constexpr size_t kCodePoints = 13;
  for (size_t i = 0; i < all.input_ids.size(); ++i) {
    const auto shift = static_cast<uint32_t>(i / tokens * kCodePoints);
    const Span of_part = one.offsets[i % tokens];
    ASSERT_EQ(all.input_ids[i], one.input_ids[i % tokens]);
    ASSERT_EQ(all.offsets[i], (Span{shift + of_part.begin, shift + of_part.end})) << i;
  }
  EXPECT_EQ(all.input_ids, ids_without_offsets(*tokenizer, repeated(part, times)));
}

TEST(BoundedTest, ReplacementsMayMakeATextLonger) {
  const auto tokenizer = with_normalizer(replacing_l_by(20));
  EXPECT_THAT(ids(*tokenizer, "l hello l"), ElementsAre(0, 0, 0));
  EXPECT_THAT(ids(*with_normalizer(replacing_l_by(1)), "l hello l"), ElementsAre(2, 1, 2));
}

TEST(BoundedTest, ReplacementsThatMultiplyAreRefused) {
  std::string steps = replacing_l_by(1000);
  for (int i = 0; i < 3; ++i) steps += ", " + replacing_l_by(1000);
  const auto tokenizer = with_normalizer(R"({"type": "Sequence", "normalizers": [)" + steps + "]}");
  EXPECT_THAT(ids(*tokenizer, "heo"), ElementsAre(0));
  EXPECT_THAT([&] { ids(*tokenizer, "hello world"); },
              testing::Throws<Error>(testing::Property(
                  &Error::problem, HasSubstr("more than 32 times as much of a text of 11 bytes"))));
}

TEST(BoundedTest, ARefusalNamesTheTokenizersFile) {
  const auto tokenizer = with_normalizer(R"({"type": "Sequence", "normalizers": [)" +
                                         replacing_l_by(1000) + ", " + replacing_l_by(1000) + "]}");
  EXPECT_THAT([&] { ids(*tokenizer, "hello world"); },
              ThrowsCode(Code::kBadData, "tokenizer.json: the tokenizer's normalizer makes"));
}

// The best way to a place that no piece reaches across is passed on before the end of the text.
TEST(BoundedTest, UnigramPassesPartsOnSomeAtATime) {
  const Viterbi<double> viterbi({{"ab", 0, -1.0}, {"a", 1, -2.0}, {"b", 2, -2.0}}, -10.0);
  constexpr size_t kTimes = 20000;
  const std::string text = repeated("abbx", kTimes);
  size_t most = 0, parts = 0, end = 0;
  viterbi.cut(text, [&](std::span<const Viterbi<double>::Part> some) {
    most = std::max(most, some.size());
    for (const auto& [value, span] : some) {
      ASSERT_EQ(span.begin, end);
      ASSERT_EQ(value, (std::vector<int32_t>{0, 2, -1})[parts % 3]) << parts;
      end = span.end;
      ++parts;
    }
  });
  EXPECT_EQ(parts, 3 * kTimes);
  EXPECT_EQ(end, text.size());
  EXPECT_LT(most, 2000u);
}

TEST(BoundedTest, UnigramFindsTheBestWayWherePiecesOverlapWithoutAnEnd) {
  const Viterbi<double> viterbi({{"aa", 0, -1.0}, {"a", 1, -2.0}}, -10.0);
  for (const size_t size : {255u, 256u, 257u, 1024u, 5001u}) {
    size_t parts = 0, calls = 0;
    viterbi.cut(std::string(size, 'a'), [&](std::span<const Viterbi<double>::Part> some) {
      parts += some.size();
      ++calls;
    });
    EXPECT_EQ(parts, (size + 1) / 2);
    EXPECT_EQ(calls, 1u);
  }
}

TEST(BoundedTest, ATextMayGrowByAConstantAndAFactor) {
  require_normalized_size(0, 64 << 10);
  require_normalized_size(1000, 32 * 1000 + (64 << 10));
  EXPECT_THAT([] { require_normalized_size(1000, 32 * 1000 + (64 << 10) + 1); },
              ThrowsCode(Code::kBadData));
}

}  // namespace
}  // namespace berth
