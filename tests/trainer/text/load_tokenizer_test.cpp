#include "trainer/text/load_tokenizer.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "tests/support/drawn_seed.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/tokenizer_fixture.h"

namespace berth {
namespace {

using testing::ElementsAre;

const std::string kSmallVocabulary = lines({"[UNK]", "[CLS]", "[SEP]", "a", "é", "e"});
const std::string kCased = kSmallVocabulary + "B\n";

Files with_config(const std::string& config, const std::string& vocabulary = kSmallVocabulary) {
  return {{"vocab.txt", vocabulary}, {"tokenizer_config.json", config}};
}

TEST(LoadTokenizerTest, WithoutASettingTheVocabularyDecidesTheCase) {
  EXPECT_THAT(ids(*load({{"vocab.txt", kSmallVocabulary}}), "A"), ElementsAre(1, 3, 2));
  EXPECT_THAT(ids(*load({{"vocab.txt", kCased}}), "A B"), ElementsAre(1, 0, 6, 2));
}

TEST(LoadTokenizerTest, TheOverrideBeatsTheConfigAndTheConfigTheVocabulary) {
  const Files files = with_config(R"({"do_lower_case": true})", kCased);
  EXPECT_THAT(ids(*load(files), "A"), ElementsAre(1, 3, 2));
  EXPECT_THAT(ids(*load(files, {.do_lower_case = false}), "A"), ElementsAre(1, 0, 2));
}

TEST(LoadTokenizerTest, AccentsFollowCaseUnlessTheConfigSaysOtherwise) {
  EXPECT_THAT(ids(*load(with_config(R"({"do_lower_case": true})")), "É"), ElementsAre(1, 5, 2));
  EXPECT_THAT(ids(*load(with_config(R"({"do_lower_case": true, "strip_accents": false})")), "É"),
              ElementsAre(1, 4, 2));
  EXPECT_THAT(ids(*load(with_config(R"({"do_lower_case": false, "strip_accents": true})")), "é"),
              ElementsAre(1, 5, 2));
}

TEST(LoadTokenizerTest, ChineseCharactersMayStayTogether) {
  const std::string vocabulary = kSmallVocabulary + "中中\n";
  const Files files =
      with_config(R"({"do_lower_case": true, "tokenize_chinese_chars": false})", vocabulary);
  EXPECT_THAT(ids(*load(files), "中中"), ElementsAre(1, 6, 2));
}

TEST(LoadTokenizerTest, SpecialTokensMayHaveOtherNames) {
  const Files files =
      with_config(R"({"unk_token": "<unk>", "cls_token": {"content": "<s>"}, "sep_token": "</s>"})",
                  lines({"<s>", "</s>", "<unk>", "a"}));
  EXPECT_THAT(ids(*load(files), "a x </s>"), ElementsAre(0, 3, 2, 1, 1));
}

TEST(LoadTokenizerTest, AddedTokensGetTheIdsOfTheirFile) {
  Files files = with_config(
      R"({"added_tokens_decoder": {"6": {"content": "<new>", "special": true, "normalized": false}}})");
  const auto tokenizer = load(files);
  EXPECT_THAT(ids(*tokenizer, "a<new>"), ElementsAre(1, 3, 6, 2));
  EXPECT_EQ(tokenizer->vocab_size(), 7);
  files = {{"vocab.txt", kSmallVocabulary}, {"added_tokens.json", R"({"New": 6})"}};
  EXPECT_THAT(ids(*load(files), "aNEWa"), ElementsAre(1, 3, 6, 3, 2));
}

TEST(LoadTokenizerTest, AddedTokensThatLeaveIdsOutAreRefused) {
  for (const auto& [name, content] :
       {std::pair("added_tokens.json", R"({"New": 6, "Other": 8})"),
        std::pair("tokenizer_config.json", R"({"added_tokens_decoder": {"8": {"content": "Other"},
                                               "6": {"content": "New"}}})")}) {
    EXPECT_THAT(
        [&] {
          load({{"vocab.txt", kSmallVocabulary}, {name, content}});
        },
        ThrowsCode(Code::kBadData, R"(the added token "Other" has the id 8, and no token has 7)"));
  }
}

TEST(LoadTokenizerTest, AddedTokensWithoutAnIdComeLast) {
  Files files = with_config(R"({"additional_special_tokens": ["<x>", "a"]})");
  // transformers 5 numbers the special tokens that the vocabulary lacks before them.
  EXPECT_THAT([&] { load(files); },
              ThrowsCode(Code::kBadData, "the id of the added token \"<x>\""));
  files["vocab.txt"] += "[PAD]\n[MASK]\n";
  EXPECT_THAT(ids(*load(files), "<x>a"), ElementsAre(1, 8, 3, 2));
}

// DistilBERT takes no token types. transformers' BertTokenizer would pass them to it.
TEST(LoadTokenizerTest, DistilBertStaysDistilBert) {
  const auto saved_class = [](const Files& files) {
    for (const auto& [name, content] : load(files)->files()) {
      if (name == "tokenizer_config.json") {
        return parse_json(content).at("tokenizer_class").get<std::string>();
      }
    }
    return std::string();
  };
  Files files = {{"vocab.txt", kSmallVocabulary}};
  EXPECT_EQ(saved_class(files), "BertTokenizer");
  files["config.json"] = R"({"model_type": "distilbert"})";
  EXPECT_EQ(saved_class(files), "DistilBertTokenizer");
  EXPECT_EQ(saved_class(with_config(R"({"tokenizer_class": "DistilBertTokenizerFast"})")),
            "DistilBertTokenizer");
}

// WordPiece.read_file() of `tokenizers` takes it off, too.
TEST(LoadTokenizerTest, WhiteSpaceAtTheEndsOfLinesDoesNotCount) {
  const std::string vocabulary = "[UNK]\n[CLS]\n[SEP]\na\t\nb \u3000\n \nc\n";
  std::vector<std::string> rules;
  const Files files = {{"vocab.txt", vocabulary}};
  EXPECT_THAT(ids(*load(files, {}, &rules), "a b c"), ElementsAre(1, 3, 4, 6, 2));
  EXPECT_THAT(rules, ElementsAre(testing::HasSubstr("white space")));
}

TEST(LoadTokenizerTest, EmptyLinesAtTheEndAreNoPieces) {
  Files files = {{"vocab.txt", "[UNK]\n[CLS]\n[SEP]\n\na\n \n\n"}};
  std::vector<std::string> rules;
  EXPECT_EQ(load(files, {}, &rules)->vocab_size(), 5);
  EXPECT_THAT(rules, ElementsAre(testing::HasSubstr("empty lines")));
  // An added token stands behind them.
  files["added_tokens.json"] = R"({"New": 7})";
  EXPECT_THAT(ids(*load(files), "a new"), ElementsAre(1, 4, 7, 2));
}

TEST(LoadTokenizerTest, TheInputsOfAModelAreNamed) {
  const Json config = parse_json(with_input_names(R"({"model_max_length": 64})", true));
  EXPECT_EQ(config["model_max_length"], 64);
  EXPECT_EQ(to_text(config["model_input_names"]),
            R"(["input_ids","token_type_ids","attention_mask"])");
  EXPECT_EQ(to_text(parse_json(with_input_names("{}", false))),
            R"({"model_input_names":["input_ids","attention_mask"]})");
}

TEST(LoadTokenizerTest, LinesEndAsPythonReadsThem) {
  EXPECT_THAT(ids(*load({{"vocab.txt", "[UNK]\r\n[CLS]\r[SEP]\n\na"}}), "a"), ElementsAre(1, 4, 2));
}

TEST(LoadTokenizerTest, WithoutAVocabularyIsNotFound) {
  EXPECT_THAT([] { load({}); }, ThrowsCode(Code::kNotFound));
}

TEST(LoadTokenizerTest, AVocabularyWithoutSpecialTokensIsBadData) {
  for (const char* vocabulary : {"", "a\n", "[UNK]\n[CLS]\n", "[UNK]\n[SEP]\n", "[UNK]\n\xFF\n"}) {
    EXPECT_THAT([&] { load({{"vocab.txt", vocabulary}}); }, ThrowsCode(Code::kBadData));
  }
}

TEST(LoadTokenizerTest, ErrorsNameTheFile) {
  try {
    load(with_config(R"({"do_lower_case": "yes"})"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBadData);
    EXPECT_EQ(error.where(), "tokenizer_config.json");
  }
}

TEST(LoadTokenizerTest, AConfigThatIsNoObjectIsCorrupt) {
  for (const char* config : {"", "[]", "{", "{\"a\": \"\xFF\"}"}) {
    EXPECT_THAT([&] { load(with_config(config)); }, ThrowsCode(Code::kCorrupt));
  }
}

TEST(LoadTokenizerTest, OtherTokenizersAreRefused) {
  EXPECT_THAT([] { load(with_config(R"({"tokenizer_class": "BertJapaneseTokenizer"})")); },
              ThrowsCode(Code::kBadData));
  EXPECT_THAT(
      [] {
        load({{"tokenizer.json", R"({"model": {"type": "BPE", "vocab": {}}})"}});
      },
      ThrowsCode(Code::kBadData));
}

TEST(LoadTokenizerTest, IdsFarBeyondTheVocabularyAreRefused) {
  const std::string json = R"({"model": {"vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 200000000}}})";
  EXPECT_THAT([&] { load({{"tokenizer.json", json}}); }, ThrowsCode(Code::kBadData));
}

// A damaged file must lead to an Error or to a tokenizer that works.
void expect_error_or_tokenizer(const Files& files) {
  try {
    const auto tokenizer = load(files);
    ids(*tokenizer, "a [SEP] é");
    EXPECT_FALSE(tokenizer->files().empty());
  } catch (const Error&) {
  }
}

TEST(LoadTokenizerTest, PrefixesOfASavedFileAreSafe) {
  Files saved;
  for (const auto& [name, content] : load(with_config("{}"))->files()) saved[name] = content;
  for (const auto& [name, content] : saved) {
    for (size_t size = first_drawn(); size < content.size(); size += kDrawnStride) {
      Files cut = saved;
      if (name == "tokenizer.json") cut.erase("vocab.txt");
      cut[name] = content.substr(0, size);
      expect_error_or_tokenizer(cut);
    }
  }
}

TEST(LoadTokenizerTest, AFlippedByteOfASavedFileIsSafe) {
  Files saved;
  for (const auto& [name, content] : load(with_config("{}"))->files()) saved[name] = content;
  for (const auto& [name, content] : saved) {
    for (size_t i = first_drawn(); i < content.size(); i += kDrawnStride) {
      Files changed = saved;
      if (name == "tokenizer.json") changed.erase("vocab.txt");
      changed[name] = content;
      changed[name][i] = static_cast<char>(content[i] ^ (1 << i % 8));
      expect_error_or_tokenizer(changed);
    }
  }
}

}  // namespace
}  // namespace berth
