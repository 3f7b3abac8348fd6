#include "trainer/model/architecture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

TEST(Architectures, HaveDifferentNames) {
  std::set<std::string_view> names, titles;
  for (const Architecture& row : architectures()) {
    EXPECT_TRUE(names.insert(row.model_type).second) << row.model_type;
    EXPECT_TRUE(titles.insert(row.title).second) << row.title;
    EXPECT_EQ(&architecture(row.type), &row);
    EXPECT_TRUE(row.prefix.ends_with('.')) << row.prefix;
    EXPECT_NE(std::string_view(row.layer.layer).find('#'), std::string_view::npos);
  }
}

TEST(Architectures, AreAllNamedToWhoeverHasAnother) {
  EXPECT_THAT([] { parse_config(R"({"model_type": "gpt2"})"); },
              ThrowsCode(Code::kUsage, known_model_types()));
  EXPECT_TRUE(known_model_types().starts_with("bert, roberta, xlm-roberta, camembert, "));
}

// The sentence "berth trains BERT, RoBERTa, ... and NomicBERT." lists the table.
TEST(Architectures, AreThoseOfTheDocumentation) {
  std::ifstream file(BERTH_ROOT "/docs/models.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const size_t first = page.find("berth trains ");
  std::string sentence = page.substr(first + 13, page.find(".\n", first) - first - 13);
  sentence = std::regex_replace(sentence, std::regex(R"(\([^)]*\)|\[|\])"), "");
  const std::regex name(R"([^,\s]+)");
  std::vector<std::string> documented, titles;
  for (std::sregex_iterator it(sentence.begin(), sentence.end(), name), end; it != end; ++it) {
    if (it->str() != "and") documented.push_back(it->str());
  }
  for (const Architecture& row : architectures()) titles.emplace_back(row.title);
  EXPECT_THAT(documented, testing::UnorderedElementsAreArray(titles));
}

}  // namespace
}  // namespace berth
