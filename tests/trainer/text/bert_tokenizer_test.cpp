#include "trainer/text/bert_tokenizer.h"

#include <gmock/gmock.h>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/tokenizer_fixture.h"

namespace berth {
namespace {

using testing::ElementsAre;

class BertTokenizerTest : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> tokenizer_ = load(
      {{"vocab.txt", lines({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "!"})}});

  std::vector<int32_t> pair(std::string_view a, std::string_view b, int32_t max_length) {
    return tokenizer_->encode(a, b, max_length).input_ids;
  }
};

TEST_F(BertTokenizerTest, WrapsATextInSpecialTokens) {
  EXPECT_THAT(ids(*tokenizer_, "A b!"), ElementsAre(2, 5, 6, 8, 3));
  EXPECT_THAT(ids(*tokenizer_, ""), ElementsAre(2, 3));
}

TEST_F(BertTokenizerTest, AnEmptySecondTextKeepsItsSeparator) {
  EXPECT_THAT(pair("a", "", 9), ElementsAre(2, 5, 3, 3));
}

TEST_F(BertTokenizerTest, TokenTypesMarkTheSecondText) {
  EXPECT_THAT(tokenizer_->encode("a", "b", 9).token_type_ids, ElementsAre(0, 0, 0, 1, 1));
}

TEST_F(BertTokenizerTest, OfTwoEqualTextsTheSecondGetsTheOddPlace) {
  EXPECT_THAT(pair("a a a", "b b b", 6), ElementsAre(2, 5, 3, 6, 6, 3));
}

TEST_F(BertTokenizerTest, TheLongerTextGetsTheOddPlace) {
  EXPECT_THAT(pair("a a a a", "b b b", 6), ElementsAre(2, 5, 5, 3, 6, 3));
}

TEST_F(BertTokenizerTest, AShortTextStaysWhole) {
  EXPECT_THAT(pair("a a a a a", "b", 7), ElementsAre(2, 5, 5, 5, 3, 6, 3));
}

TEST_F(BertTokenizerTest, NoRoomForSpecialTokensIsAUsageError) {
  EXPECT_THAT([&] { ids(*tokenizer_, "a", 1); }, ThrowsCode(Code::kUsage));
  EXPECT_THAT([&] { pair("a", "b", 2); }, ThrowsCode(Code::kUsage));
  EXPECT_THAT(ids(*tokenizer_, "a", 2), ElementsAre(2, 3));
}

TEST_F(BertTokenizerTest, SpecialTokensInTextAreKept) {
  EXPECT_THAT(ids(*tokenizer_, "a[SEP]b [MASK]"), ElementsAre(2, 5, 3, 6, 4, 3));
  EXPECT_THAT(ids(*tokenizer_, "[sep]"), ElementsAre(2, 1, 1, 1, 3));
}

TEST_F(BertTokenizerTest, AMillionCombiningMarksAreOneUnknownWord) {
  std::string text = "a";
  for (int i = 0; i < 1000000; ++i) text += i % 2 ? "\u302E" : "\u1B44";
  EXPECT_THAT(ids(*tokenizer_, text), ElementsAre(2, 1, 3));
}

TEST_F(BertTokenizerTest, EveryPrefixOfAMixedTextIsAccepted) {
  const std::string text = "a\u0301[MASK] \U0001F600\u4E2D\uAC01 [SEP]\xFF\xE4 \u0130";
  for (size_t size = 0; size <= text.size(); ++size) {
    EXPECT_GE(ids(*tokenizer_, text.substr(0, size)).size(), 2u);
  }
}

TEST_F(BertTokenizerTest, EveryFlippedBitOfAMixedTextIsAccepted) {
  const std::string text = "a\u0301[MASK] \U0001F600\u4E2D\uAC01 [SEP] \u0130";
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_GE(ids(*tokenizer_, flipped).size(), 2u);
  }
}

}  // namespace
}  // namespace berth
