#include <gmock/gmock.h>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"
#include "trainer/text/word_model.h"

namespace berth {
namespace {

using testing::ElementsAre;

std::vector<int32_t> split(const WordPiece& wordpiece, std::string_view word) {
  uint64_t hash = WordPiece::kHashSeed;
  for (const char byte : word) hash = WordPiece::hash_step(hash, byte);
  std::vector<int32_t> ids;
  wordpiece.append(word, hash, ids);
  return ids;
}

TEST(WordPieceTest, TakesTheLongestPieceFirst) {
  const WordPiece wordpiece({"[UNK]", "un", "una", "##aff", "##ff", "##able"});
  EXPECT_THAT(split(wordpiece, "unaffable"), ElementsAre(2, 4, 5));
}

TEST(WordPieceTest, OneUnknownPartMakesTheWholeWordUnknown) {
  const WordPiece wordpiece({"[UNK]", "un", "##aff"});
  EXPECT_THAT(split(wordpiece, "unaffx"), ElementsAre(0));
}

TEST(WordPieceTest, PiecesWithinCharactersDoNotMatch) {
  const WordPiece wordpiece({"[UNK]", "é", "ê"});
  EXPECT_THAT(split(wordpiece, "è"), ElementsAre(0));
}

TEST(WordPieceTest, TheLastOfEqualPiecesIsUsed) {
  const WordPiece wordpiece({"[UNK]", "a", "b", "a"});
  EXPECT_THAT(split(wordpiece, "a"), ElementsAre(3));
}

TEST(WordPieceTest, EmptyPiecesAreNeverFound) {
  const WordPiece wordpiece({"[UNK]", "", "##", "a", ""});
  EXPECT_EQ(wordpiece.find(""), -1);
  EXPECT_THAT(split(wordpiece, "ab"), ElementsAre(0));
  EXPECT_EQ(wordpiece.size(), 5);
}

TEST(WordPieceTest, AnotherPrefixContinuesWords) {
  const WordPiece wordpiece({"[UNK]", "a", "@b", "##b"}, {.continuing_subword_prefix = "@"});
  EXPECT_THAT(split(wordpiece, "ab"), ElementsAre(1, 2));
}

TEST(WordPieceTest, EveryPieceOfALargeVocabularyIsFound) {
  std::vector<std::string> pieces{"[UNK]"};
  for (int i = 0; i < 50000; ++i) pieces.push_back("w" + std::to_string(i * 7919));
  const WordPiece wordpiece(pieces);
  for (int32_t id = 0; id < wordpiece.size(); ++id) {
    ASSERT_EQ(wordpiece.find(pieces[static_cast<size_t>(id)]), id);
    ASSERT_EQ(wordpiece.piece(id), pieces[static_cast<size_t>(id)]);
  }
}

TEST(WordPieceTest, NeedsItsUnknownTokenAndASensibleLimit) {
  EXPECT_THAT([] { WordPiece({"a"}); }, ThrowsCode(Code::kBadData));
  EXPECT_THAT([] { WordPiece({}); }, ThrowsCode(Code::kBadData));
  EXPECT_THAT([] { WordPiece({"[UNK]"}, {.max_input_chars_per_word = 0}); },
              ThrowsCode(Code::kBadData));
}

}  // namespace
}  // namespace berth
