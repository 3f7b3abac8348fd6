#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/trainer/text/tokenizer_fixture.h"

// Tokenizes the torture list and compares with `tokenizers` 0.23, whose results
// tests/record/record_tokenizer.py recorded.
namespace berth {
namespace {

using Ids = std::vector<int32_t>;

class TokenizerGoldenTest : public testing::TestWithParam<const char*> {
 protected:
  Json recorded(const std::string& name) const {
    return parse_json(testdata(GetParam() + ("/" + name)));
  }
  std::unique_ptr<Tokenizer> tokenizer() const {
    return load({{"vocab.txt", testdata(GetParam() + std::string("/vocab.txt"))}});
  }
};

TEST_P(TokenizerGoldenTest, SinglesAreEqual) {
  const auto ours = tokenizer();
  for (const auto& row : recorded("singles.json")) {
    const std::string text = bytes_of_hex(row["bytes"].get<std::string>());
    EXPECT_EQ(ids(*ours, text), row["ids"].get<Ids>()) << text;
  }
}

TEST_P(TokenizerGoldenTest, PairsAndTruncationAreEqual) {
  const auto ours = tokenizer();
  for (const auto& row : recorded("pairs.json")) {
    const auto a = row["a"].get<std::string>(), b = row["b"].get<std::string>();
    const auto max_length = row["max"].get<int32_t>();
    const Encoding pair = ours->encode(a, b, max_length);
    EXPECT_EQ(pair.input_ids, row["ids"].get<Ids>()) << a << " | " << b << " | " << max_length;
    EXPECT_EQ(pair.token_type_ids, row["types"].get<Ids>());
    EXPECT_EQ(ids(*ours, a, max_length), row["single"].get<Ids>()) << a;
  }
}

TEST_P(TokenizerGoldenTest, SavedFilesGiveTheSameIds) {
  Files saved;
  for (const auto& [name, content] : tokenizer()->files()) saved[name] = content;
  const auto from_lines = load(saved);
  saved.erase("vocab.txt");
  const auto from_json = load(saved);
  for (const auto& row : recorded("singles.json")) {
    const std::string text = bytes_of_hex(row["bytes"].get<std::string>());
    EXPECT_EQ(ids(*from_lines, text), row["ids"].get<Ids>());
    EXPECT_EQ(ids(*from_json, text), row["ids"].get<Ids>());
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerGoldenTest, testing::Values("cased", "uncased"),
                         [](const auto& test) { return std::string(test.param); });

// MPNet's, whose results are those of its class in transformers 5.24.
class MpnetGoldenTest : public testing::Test {
 protected:
  static void expect_recorded(const Files& files) {
    const auto ours = load(files);
    for (const auto& row : parse_json(testdata("mpnet/pairs.json"))) {
      const auto a = row["a"].get<std::string>(), b = row["b"].get<std::string>();
      const auto max_length = row["max"].get<int32_t>();
      const Encoding pair = ours->encode(a, b, max_length);
      EXPECT_EQ(pair.input_ids, row["ids"].get<Ids>()) << a << " | " << b << " | " << max_length;
      EXPECT_EQ(pair.token_type_ids, Ids(pair.input_ids.size())) << a;
      EXPECT_EQ(ids(*ours, a, max_length), row["single"].get<Ids>()) << a;
    }
  }

  const Files vocabulary_ = {{"vocab.txt", testdata("mpnet/vocab.txt")},
                             {"config.json", R"({"model_type": "mpnet"})"}};
};

TEST_F(MpnetGoldenTest, TheVocabularyAndTokenizerJsonGiveTheRecordedIds) {
  expect_recorded(vocabulary_);
  expect_recorded({{"tokenizer.json", testdata("mpnet/tokenizer.json")}});
}

TEST_F(MpnetGoldenTest, SavedFilesGiveTheSameIds) {
  Files saved;
  for (const auto& [name, content] : load(vocabulary_)->files()) saved[name] = content;
  EXPECT_EQ(parse_json(saved["tokenizer_config.json"])["tokenizer_class"], "MPNetTokenizer");
  expect_recorded(saved);
  saved.erase("vocab.txt");
  expect_recorded(saved);
}

// RobertaProcessing's trim_offsets decides whether <mask> covers the spaces that it takes.
// `tokenizers` 0.23 gave these spans.
TEST_F(MpnetGoldenTest, SpansOfAddedTokensFollowTheFile) {
  Json root = parse_json(testdata("mpnet/tokenizer.json"));
  const auto expect_spans = [](const Files& files, Span inside, Span first) {
    EncodeOptions options(1 << 20);
    options.with_offsets = true;
    const auto ours = load(files);
    EXPECT_EQ(ours->encode("a <mask> b", std::nullopt, options).offsets[2], inside);
    EXPECT_EQ(ours->encode(" <mask>", std::nullopt, options).offsets[1], first);
  };
  const auto expect_spans_of = [&](bool trims, bool has_prefix, Span inside, Span first) {
    root["post_processor"]["trim_offsets"] = trims;
    root["post_processor"]["add_prefix_space"] = has_prefix;
    const Files files = {{"tokenizer.json", to_text(root)}};
    expect_spans(files, inside, first);
    for (const auto& [name, content] : load(files)->files()) {
      if (name == "tokenizer.json") expect_spans({{name, content}}, inside, first);
    }
  };
  expect_spans(vocabulary_, {2, 8}, {1, 7});
  expect_spans_of(true, false, {2, 8}, {1, 7});
  expect_spans_of(false, false, {1, 8}, {0, 7});
  expect_spans_of(true, true, {2, 8}, {0, 7});
}

TEST(AddedTokenGoldenTest, EveryFlagOfTokenizerJsonIsHonoured) {
  const auto ours = load({{"tokenizer.json", testdata("added/tokenizer.json")}});
  for (const auto& row : parse_json(testdata("added/singles.json"))) {
    const std::string text = bytes_of_hex(row["bytes"].get<std::string>());
    EXPECT_EQ(ids(*ours, text), row["ids"].get<Ids>()) << text;
  }
}

}  // namespace
}  // namespace berth
