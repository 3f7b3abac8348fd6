#include <gmock/gmock.h>

#include <algorithm>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/training/train.h"
#include "trainer/text/unicode.h"

namespace berth {
namespace {

using testing::ElementsAre;

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
    char bytes[4];
    const std::string c(bytes, encode_utf8(static_cast<char32_t>(0xA000 + i), bytes));
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
