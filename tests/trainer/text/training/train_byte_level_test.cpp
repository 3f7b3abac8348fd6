#include <gmock/gmock.h>

#include <algorithm>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/training/train.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

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

}  // namespace
}  // namespace berth
