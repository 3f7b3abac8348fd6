#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/utf8.h"
#include "tests/trainer/text/tokenizer_fixture.h"
#include "trainer/text/normalizer.h"

// Normalizes every code point and compares digests with those of `tokenizers` 0.23, which
// tests/record/record_tokenizer.py recorded. A utf8proc of another Unicode version fails here.
namespace berth {
namespace {

constexpr char32_t kBlock = 4096;

class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
    }
  }
  std::string hex() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value_));
    return text;
  }

 private:
  uint64_t value_ = 0xCBF29CE484222325;
};

// The digest of what `visit` returns for "a<c>b", for each character c of the block.
template <typename Visit>
std::string digest_of_block(char32_t first, Visit visit) {
  Digest digest;
  for (char32_t c = first; c < first + kBlock; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    digest.add(visit("a" + to_utf8(c) + "b"));
  }
  return digest.hex();
}

Json recorded() { return parse_json(testdata("code_points.json")); }

void expect_normalized(const char* column, const NormalizerOptions& options) {
  const Normalizer normalizer(options);
  for (const auto& row : recorded()) {
    const auto first = row["first"].get<char32_t>();
    EXPECT_EQ(
        digest_of_block(first, [&](const std::string& s) { return normalizer.normalized(s); }),
        row[column].get<std::string>())
        << "from U+" << std::hex << static_cast<uint32_t>(first);
  }
}

TEST(CodePointsTest, EachIsCleanedAsTokenizersDoes) {
  expect_normalized("cased", {.strip_accents = false, .lowercase = false});
}

TEST(CodePointsTest, EachIsLoweredAndStrippedAsTokenizersDoes) { expect_normalized("uncased", {}); }

TEST(CodePointsTest, EachIsLoweredAloneAsTokenizersDoes) {
  expect_normalized("lower", {.clean_text = false,
                              .handle_chinese_chars = false,
                              .strip_accents = false,
                              .lowercase = true});
}

TEST(CodePointsTest, EachSplitsWordsAsTokenizersDoes) {
  const auto tokenizer =
      load({{"vocab.txt", lines({"[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})},
            {"tokenizer_config.json", R"({"do_lower_case": false})"}});
  for (const auto& row : recorded()) {
    const auto count = [&](const std::string& s) {
      return std::string(1, static_cast<char>(ids(*tokenizer, s).size()));
    };
    EXPECT_EQ(digest_of_block(row["first"].get<char32_t>(), count), row["words"].get<std::string>())
        << row["first"];
  }
}

}  // namespace
}  // namespace berth
