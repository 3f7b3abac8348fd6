#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/tokenizer_fixture.h"

// Every normalizer, pre-tokenizer, post-processor, decoder and model of `tokenizers` with its
// options: either transformers 5 gives the same ids, or the part is refused by its name.
// tests/record/record_tokenizer_parts.py recorded them.
namespace berth {
namespace {

using Ids = std::vector<int32_t>;

Files folder_of(const Json& bases, const Json& row) {
  Json root = bases.at(row.at("base").get<std::string>());
  for (const auto& [part, value] : row.at("change").items()) {
    if (part == "model") {
      root[part].update(value);
    } else {
      root[part] = value;
    }
  }
  return {{"tokenizer.json", to_text(root)},
          {"tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"}};
}

TEST(TokenizerPartsTest, AreReadAsTransformersReadsThemOrRefusedByName) {
  const Json recorded = parse_json(testdata("parts.json"));
  const std::string first = recorded.at("pair")[0], second = recorded.at("pair")[1];
  size_t refused = 0;
  for (const Json& row : recorded.at("rows")) {
    SCOPED_TRACE(row.at("base").get<std::string>() + " " +
                 to_text(row.at("change")).substr(0, 300));
    const Files files = folder_of(recorded.at("bases"), row);
    if (row.contains("refused")) {
      ++refused;
      EXPECT_THAT([&] { load(files); },
                  ThrowsCode(Code::kBadData, row.at("refused").get<std::string>()));
      continue;
    }
    const auto tokenizer = load(files);
    size_t i = 0;
    for (const Json& text : recorded.at("texts")) {
      EXPECT_EQ(ids(*tokenizer, text.get<std::string>()), row.at("ids")[i++].get<Ids>()) << text;
    }
    EXPECT_EQ(tokenizer->encode(first, second, 1 << 20).input_ids, row.at("ids")[i].get<Ids>());
  }
  EXPECT_EQ(refused, 24U);
}

}  // namespace
}  // namespace berth
