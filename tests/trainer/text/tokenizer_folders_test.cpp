#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "storage/base/base64.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/tokenizer_fixture.h"

// Folders of tokenizers as transformers and its users leave them, and what AutoTokenizer says of
// them, which tests/record/record_tokenizer_folders.py recorded.
namespace berth {
namespace {

using Ids = std::vector<int32_t>;

Files files_of(const Json& folder) {
  Files files;
  for (const auto& [name, content] : folder.at("files").items()) {
    files[name] = content.is_string()
                      ? content.get<std::string>()
                      : decode_base64(content.at("base64").get<std::string>()).value();
  }
  return files;
}

void expect_ids_of_texts(const Tokenizer& tokenizer, const Json& recorded, const Json& folder) {
  size_t i = 0;
  for (const Json& text : recorded.at("texts")) {
    EXPECT_EQ(ids(tokenizer, text.get<std::string>()), folder.at("ids")[i++].get<Ids>()) << text;
  }
}

// folders.json, and lone.json: the folders without tokenizer.json.
class TokenizerFoldersTest : public testing::TestWithParam<const char*> {
 protected:
  const Json recorded_ = parse_json(testdata(GetParam()));
};

TEST_P(TokenizerFoldersTest, AreReadAsTransformersReadsThemOrRefused) {
  size_t refused = 0;
  for (const Json& folder : recorded_.at("folders")) {
    SCOPED_TRACE(folder.at("name").get<std::string>());
    const Files files = files_of(folder);
    if (!folder.contains("ids")) {
      ++refused;
      EXPECT_THAT([&] { load(files); }, ThrowsCode(Code::kBadData, ""));
      continue;
    }
    const auto tokenizer = load(files);
    expect_ids_of_texts(*tokenizer, recorded_, folder);
    size_t i = 0;
    for (const Json& pair : recorded_.at("pairs")) {
      const auto a = pair[0].get<std::string>(), b = pair[1].get<std::string>();
      const Encoding encoding = tokenizer->encode(a, b, 1 << 20);
      EXPECT_EQ(encoding.input_ids, folder.at("pair_ids")[i].get<Ids>()) << pair;
      // transformers 5 gives no types for ALBERT and some others; the file's template counts then.
      const Json& types = folder.at("pair_types")[i++];
      if (!types.is_null()) {
        EXPECT_EQ(encoding.token_type_ids, types.get<Ids>()) << pair;
      }
    }
  }
  EXPECT_EQ(refused, 5U);
}

// A saved folder is read as the one that it came from.
TEST_P(TokenizerFoldersTest, TheirSavedFilesMeanTheSame) {
  for (const Json& folder : recorded_.at("folders")) {
    if (!folder.contains("ids")) continue;
    SCOPED_TRACE(folder.at("name").get<std::string>());
    const Files files = files_of(folder);
    Files saved;
    for (const auto& [name, content] : load(files)->files()) saved[name] = content;
    // What an exported config.json has of it.
    if (files.contains("config.json")) {
      Json config = parse_json(files.at("config.json"));
      config.erase("tokenizer_class");
      saved["config.json"] = to_text(config);
    }
    expect_ids_of_texts(*load(saved), recorded_, folder);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, TokenizerFoldersTest, testing::Values("folders.json", "lone.json"),
    [](const auto& test) {
      return std::string(test.param).substr(0, std::string(test.param).find('.'));
    });

TEST(TokenizerFolderTest, TextsAreCutAtTheSideThatTheFolderNames) {
  const Files files = {
      {"vocab.txt", lines({"[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d"})},
      {"tokenizer_config.json", R"({"do_lower_case": true, "truncation_side": "left"})"}};
  std::vector<std::string> rules;
  const auto tokenizer = load_tokenizer(
      [&](std::string_view name) -> std::optional<std::string> {
        const auto found = files.find(name);
        return found == files.end() ? std::nullopt : std::optional(found->second);
      },
      {}, &rules);
  EXPECT_THAT(rules, testing::ElementsAre("truncation_side counts"));
  EXPECT_THAT(ids(*tokenizer, "a b c d", 5), testing::ElementsAre(1, 4, 5, 6, 2));
  const Encoding pair = tokenizer->encode("a b c d", "c d", 7);
  EXPECT_THAT(pair.input_ids, testing::ElementsAre(1, 5, 6, 2, 5, 6, 2));
  Files saved;
  for (const auto& [name, content] : tokenizer->files()) saved[name] = content;
  EXPECT_THAT(ids(*load(saved), "a b c d", 5), testing::ElementsAre(1, 4, 5, 6, 2));
}

TEST(TokenizerFolderTest, AKeyThatChangesNumbersIsReadOrRefusedByName) {
  const auto with = [](const std::string& config) {
    return Files{{"vocab.txt", lines({"[UNK]", "[CLS]", "[SEP]", "a"})},
                 {"tokenizer_config.json", config}};
  };
  EXPECT_THAT([&] { load(with(R"({"split_special_tokens": true})")); },
              ThrowsCode(Code::kUsage, "\"split_special_tokens\" is true"));
  EXPECT_THAT([&] { load(with(R"({"tokenizer_class": "FunnelTokenizer"})")); },
              ThrowsCode(Code::kBadData, "the tokenizer's class is FunnelTokenizer"));
}

TEST(TokenizerFolderTest, SentenceTransformersLowerCasesBeforeAllElse) {
  const Files files = {{"vocab.txt", lines({"[UNK]", "[CLS]", "[SEP]", "a", "é", "e", "B", "É"})},
                       {"tokenizer_config.json", R"({"do_lower_case": false})"}};
  EXPECT_THAT(ids(*load(files), "A É B"), testing::ElementsAre(1, 0, 7, 6, 2));
  EXPECT_THAT(ids(*load(files, {.lowers_first = true}), "A É B"),
              testing::ElementsAre(1, 3, 4, 0, 2));
}

}  // namespace
}  // namespace berth
