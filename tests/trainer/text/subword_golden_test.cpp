#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/trainer/text/tokenizer_fixture.h"

// Tokenizes the torture list with byte-level BPE, SentencePiece and tokenizer.json. Compares ids
// and offsets with those of `tokenizers` 0.23 and libsentencepiece 0.2.3, which
// tests/record/record_subword.py recorded.
namespace berth {
namespace {

Files folder_of(const std::string& name, std::initializer_list<const char*> files) {
  Files folder;
  for (const char* file : files) folder[file] = testdata(name + "/" + file);
  return folder;
}

std::string written(const Encoding& encoding) {
  std::string text;
  for (size_t i = 0; i < encoding.input_ids.size(); ++i) {
    text += (i > 0 ? " " : "") + std::to_string(encoding.input_ids[i]) + ":" +
            std::to_string(encoding.offsets[i].begin) + "-" +
            std::to_string(encoding.offsets[i].end);
  }
  return text;
}

void expect_recorded(const Tokenizer& tokenizer, const std::string& name, bool special_tokens) {
  EncodeOptions options(1 << 20);
  options.add_special_tokens = special_tokens;
  for (const auto& row : parse_json(testdata(name + "/singles.json"))) {
    const std::string text = bytes_of_hex(row["bytes"].get<std::string>());
    options.with_offsets = true;
    const Encoding with_offsets = tokenizer.encode(text, std::nullopt, options);
    EXPECT_EQ(written(with_offsets), row["tokens"].get<std::string>()) << text;
    options.with_offsets = false;
    const Encoding ids_alone = tokenizer.encode(text, std::nullopt, options);
    EXPECT_EQ(ids_alone.input_ids, with_offsets.input_ids) << text;
    EXPECT_TRUE(ids_alone.offsets.empty());
  }
}

class TokenizerJsonGoldenTest : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Tokenizer> tokenizer_ = load(folder_of(GetParam(), {"tokenizer.json"}));
};

TEST_P(TokenizerJsonGoldenTest, IdsAndOffsetsAreEqual) {
  expect_recorded(*tokenizer_, GetParam(), true);
}

TEST_P(TokenizerJsonGoldenTest, PairsAreEqual) {
  const auto row = parse_json(testdata(GetParam() + std::string("/pair.json")))[0];
  EncodeOptions options(1 << 20);
  options.with_offsets = true;
  const Encoding pair = tokenizer_->encode(bytes_of_hex(row["bytes"].get<std::string>()),
                                           row["second"].get<std::string>(), options);
  EXPECT_EQ(written(pair), row["tokens"].get<std::string>());
  EXPECT_EQ(pair.token_type_ids, row["types"].get<std::vector<int32_t>>());
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerJsonGoldenTest,
                         testing::Values("byte_level", "byte_level_prefix", "unigram_json",
                                         "words_json"),
                         [](const auto& test) { return std::string(test.param); });

class SentencePieceGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(SentencePieceGoldenTest, IdsAndOffsetsAreEqual) {
  const auto tokenizer = load(folder_of(GetParam(), {"spiece.model"}));
  expect_recorded(*tokenizer, GetParam(), false);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SentencePieceGoldenTest,
                         testing::Values("sentencepiece_unigram", "sentencepiece_bpe",
                                         "sentencepiece_bpe_unused", "sentencepiece_suffix"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ByteLevelGoldenTest, VocabularyAndMergesAreAsTokenizerJson) {
  expect_recorded(*load(folder_of("byte_level", {"vocab.json", "merges.txt"})), "byte_level", true);
}

}  // namespace
}  // namespace berth
