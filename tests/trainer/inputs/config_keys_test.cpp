#include "trainer/model/config_keys.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "tests/support/throws_code.h"
#include "trainer/inputs/sentence_files.h"
#include "trainer/model/config.h"
#include "trainer/text/tokenizer_class.h"

// The keys that transformers and sentence-transformers write and read, which
// tests/record/record_config_keys.py recorded.
namespace berth {
namespace {

std::span<const KnownKey> keys_of(const std::string& file) {
  if (file == "config.json") return config_keys();
  if (file == "tokenizer_config.json") return tokenizer_keys();
  return sentence_keys(file);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Json recorded() { return parse_json(read_file(BERTH_TESTDATA "/config_keys.json")); }

TEST(ConfigKeysTest, EveryKeyOfTransformersIsKnown) {
  const Json all = recorded();
  for (const auto& [file, keys] : all.items()) {
    for (const Json& key : keys) {
      const auto known = keys_of(file);
      EXPECT_TRUE(std::ranges::find(known, key.get<std::string>(), &KnownKey::name) != known.end())
          << file << ": " << key;
    }
  }
}

TEST(ConfigKeysTest, ARefusedKeyIsNamed) {
  const Json all = recorded();
  for (const auto& [file, keys] : all.items()) {
    for (const KnownKey& key : keys_of(file)) {
      if (key.use != KeyUse::kFixed) continue;
      const Json other = {{std::string(key.name), "another"}}, absent = Json::object();
      EXPECT_THAT([&] { check_keys(other, keys_of(file)); },
                  ThrowsCode(Code::kUsage, cat("\"", key.name, "\" is \"another\"")));
      const Json values = parse_json(key.values);
      ASSERT_TRUE(values.is_array()) << key.name;
      for (const Json& value : values) {
        EXPECT_THAT(check_keys({{std::string(key.name), value}}, keys_of(file)),
                    testing::IsEmpty());
      }
      EXPECT_THAT(check_keys({{std::string(key.name), nullptr}}, keys_of(file)),
                  testing::IsEmpty());
    }
  }
}

TEST(ConfigKeysTest, AKeyIsKnownOnceAndTheDocumentationHasIt) {
  const std::string page = read_file(BERTH_ROOT "/docs/configurations.md");
  const Json all = recorded();
  for (const auto& [file, unused] : all.items()) {
    std::set<std::string_view> seen;
    for (const KnownKey& key : keys_of(file)) {
      EXPECT_TRUE(seen.insert(key.name).second) << key.name;
      EXPECT_NE(page.find(cat("`", key.name, "`")), page.npos) << key.name;
    }
  }
}

TEST(ConfigKeysTest, KeysThatNobodyKnowsAreListed) {
  EXPECT_THAT(check_keys({{"vocab_size", 3}, {"alibi_slopes", 1}}, config_keys()),
              testing::ElementsAre("alibi_slopes"));
  EXPECT_EQ(listed_keys({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(listed_keys({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}),
            "a, b, c, d, e, f, g, h and 2 more");
}

TEST(ConfigKeysTest, AConfigurationWithAnotherNetworkIsRefused) {
  const auto parse = [](const std::string& key) {
    return parse_config(cat(R"({"vocab_size": 8, "hidden_size": 4, "num_hidden_layers": 1,
        "num_attention_heads": 1, "intermediate_size": 4, "max_position_embeddings": 8, )",
                            key, "}"));
  };
  EXPECT_THAT([&] { parse(R"("add_cross_attention": true)"); },
              ThrowsCode(Code::kUsage, "\"add_cross_attention\" is true"));
  EXPECT_THAT([&] { parse(R"("pruned_heads": {"0": [1]})"); },
              ThrowsCode(Code::kUsage, "pruned_heads"));
  EXPECT_FALSE(parse(R"("tie_word_embeddings": false)").ties_word_embeddings);
}

}  // namespace
}  // namespace berth
