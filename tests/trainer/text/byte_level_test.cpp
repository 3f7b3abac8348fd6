#include <gmock/gmock.h>

#include "storage/base/error.h"
#include "tests/support/drawn_seed.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/tokenizer_fixture.h"
#include "trainer/text/split_text.h"

namespace berth {
namespace {

using testing::ElementsAre;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = byte_level_word_end(text, begin);
    found.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return found;
}

TEST(ByteLevelTest, EveryByteHasACharacterOfItsOwn) {
  EXPECT_EQ(byte_to_character('a'), U'a');
  EXPECT_EQ(byte_to_character(' '), U'\u0120');
  EXPECT_EQ(byte_to_character('\n'), U'\u010A');
  std::string bytes;
  EXPECT_TRUE(spelled_bytes("\u0120a\u00C3\u00A9", bytes));
  EXPECT_EQ(bytes, " a\u00E9");
  EXPECT_FALSE(spelled_bytes("\u4E2D", bytes));
}

TEST(ByteLevelTest, WordsTakeOneSpaceBeforeThem) {
  EXPECT_THAT(words("a  b 12,  "), ElementsAre("a", " ", " b", " 12", ",", "  "));
}

TEST(ByteLevelTest, ContractionsAreLowerCase) {
  EXPECT_THAT(words("it's IT'S we'll"), ElementsAre("it", "'s", " IT", "'", "S", " we", "'ll"));
}

TEST(ByteLevelTest, OtherWhitespaceStandsAlone) {
  EXPECT_THAT(words("a\n\nb\u3000c"), ElementsAre("a", "\n", "\n", "b", "\u3000", "c"));
}

const Files kSmallByteLevel = {
    {"vocab.json",
     R"({"<s>": 0, "</s>": 1, "<mask>": 2, "a": 3, "b": 4, "ab": 5, "Ġ": 6, "Ġab": 7})"},
    {"merges.txt", "#version: 0.2\na b\nĠ ab\n"}};

TEST(ByteLevelTest, MergesAndDropsCharactersWithoutAToken) {
  const auto tokenizer = load(kSmallByteLevel);
  EXPECT_THAT(ids(*tokenizer, "ab ab?b"), ElementsAre(0, 5, 7, 4, 1));
  EXPECT_THAT(tokenizer->encode("a", "b", 9).input_ids, ElementsAre(0, 3, 1, 1, 4, 1));
}

TEST(ByteLevelTest, TheMaskTakesTheSpaceBeforeItIfAFileSaysSo) {
  Files files = kSmallByteLevel;
  EXPECT_THAT(ids(*load(files), "a <mask> a"), ElementsAre(0, 3, 6, 2, 6, 3, 1));
  files["special_tokens_map.json"] = R"({"mask_token": {"content": "<mask>", "lstrip": true}})";
  EXPECT_THAT(ids(*load(files), "a <mask> a"), ElementsAre(0, 3, 2, 6, 3, 1));
}

TEST(ByteLevelTest, APrefixSpaceIsAddedIfTheConfigSaysSo) {
  Files files = kSmallByteLevel;
  files["tokenizer_config.json"] = R"({"add_prefix_space": true})";
  EncodeOptions options(99);
  options.with_offsets = true;
  const Encoding encoding = load(files)->encode("ab", std::nullopt, options);
  EXPECT_THAT(encoding.input_ids, ElementsAre(0, 7, 1));
  EXPECT_EQ(encoding.offsets[1], (Span{0, 2}));
}

// The ids of words, each of which has a space before it in the text.
std::vector<int32_t> ids_of_words(const Tokenizer& tokenizer, std::vector<std::string> words) {
  std::string text;
  std::vector<size_t> ends;
  for (const std::string& word : words) ends.push_back((text += " " + word).size());
  EncodeOptions options(99);
  options.with_offsets = true;
  options.word_ends = ends;
  return tokenizer.encode(text, std::nullopt, options).input_ids;
}

TEST(ByteLevelTest, AWordThatIsAnAddedTokenOrEmptyTakesNoSpace) {
  for (const char* prefix : {"true", "false"}) {
    Files files = kSmallByteLevel;
    files["tokenizer_config.json"] = std::string(R"({"add_prefix_space": )") + prefix + "}";
    files["added_tokens.json"] = R"({"NEW": 8})";
    const auto tokenizer = load(files);
    EXPECT_THAT(ids_of_words(*tokenizer, {"ab", "NEW", "ab"}), ElementsAre(0, 7, 8, 7, 1));
    EXPECT_THAT(ids_of_words(*tokenizer, {"</s>", "", " ab"}), ElementsAre(0, 1, 7, 1));
    EXPECT_THAT(ids_of_words(*tokenizer, {"<mask>", "ab"}), ElementsAre(0, 2, 7, 1));
    // The space inside a word is a token.
    EXPECT_THAT(ids_of_words(*tokenizer, {"ab NEW"}), ElementsAre(0, 7, 6, 8, 1));
    EXPECT_TRUE(tokenizer->takes_no_space("NEW"));
    EXPECT_FALSE(tokenizer->takes_no_space("aNEW"));
  }
}

TEST(PipelineJsonTest, AWordThatIsAnAddedTokenTakesNoSpaceOfAMetaspace) {
  const auto of_steps = [](const std::string& steps) {
    return load({{"tokenizer.json", R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" +
                                        steps + R"({"type": "Metaspace"}]},
        "added_tokens": [{"id": 4, "content": "NEW", "normalized": true}],
        "post_processor": {"type": "BertProcessing", "sep": ["]", 0], "cls": ["[", 0]},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["▁ab", -1], ["▁", -2],
                  ["ab", -3]]}})"}});
  };
  EXPECT_THAT(ids_of_words(*of_steps(""), {"ab", "NEW", "ab", "", "ab"}),
              ElementsAre(0, 1, 4, 1, 1, 0));
  // Where a step removes the spaces, there is none to be left out.
  const auto without = of_steps(R"({"type": "WhitespaceSplit"}, )");
  EXPECT_THAT(ids_of_words(*without, {"ab", "NEW", "ab"}), ElementsAre(0, 1, 4, 1, 0));
  EXPECT_FALSE(without->takes_no_space("NEW"));
}

TEST(ByteLevelTest, PlacesOfWordsAreThoseInTheText) {
  Files files = kSmallByteLevel;
  files["added_tokens.json"] = R"({"NEW": 8})";
  const std::vector<size_t> ends = {3, 7, 10};
  EncodeOptions options(99);
  options.with_offsets = true;
  options.word_ends = ends;
  const Encoding encoding = load(files)->encode(" ab NEW ab", std::nullopt, options);
  EXPECT_THAT(encoding.offsets,
              ElementsAre(Span{0, 0}, Span{1, 3}, Span{4, 7}, Span{8, 10}, Span{0, 0}));
  options.max_length = 4;
  EXPECT_THAT(load(files)->encode(" ab NEW ab", std::nullopt, options).input_ids,
              ElementsAre(0, 7, 8, 1));
}

TEST(ByteLevelTest, ALongWordDoesNotTakeQuadraticTime) {
  const std::string text(1 << 19, 'a');
  EXPECT_EQ(ids(*load(kSmallByteLevel), text).size(), (1u << 19) + 2);
}

TEST(ByteLevelTest, BrokenFilesAreErrors) {
  for (const auto& [name, content] :
       {std::pair{"merges.txt", "ab\n"}, std::pair{"merges.txt", "a c\n"},
        std::pair{"vocab.json", R"({"a": -1})"}, std::pair{"vocab.json", R"({"a": 100000})"},
        std::pair{"vocab.json", R"({"a": 0})"}}) {
    Files files = kSmallByteLevel;
    files[name] = content;
    EXPECT_THAT([&] { load(files); }, ThrowsCode(Code::kBadData)) << content;
  }
  EXPECT_THAT([] { load({{"vocab.json", "{}"}}); }, ThrowsCode(Code::kNotFound));
}

TEST(PipelineJsonTest, UnknownPartsAreNamed) {
  const auto message_of = [](const char* part) {
    try {
      load({{"tokenizer.json", "{" + std::string(part) +
                                   R"(, "model": {"type": "WordPiece", "vocab": {"[UNK]": 0}}})"}});
      return std::string("no error");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kBadData);
      return std::string(error.what());
    }
  };
  using testing::HasSubstr;
  EXPECT_THAT(message_of(R"("pre_tokenizer": {"type": "X"})"),
              HasSubstr("pre_tokenizer.type is \"X\", which berth does not support"));
  EXPECT_THAT(message_of(R"("normalizer": {"type": "Y"})"), HasSubstr("normalizer.type is \"Y\""));
  EXPECT_THAT(message_of(R"("post_processor": {"type": "Z"})"),
              HasSubstr("post_processor.type is \"Z\""));
}

TEST(PipelineJsonTest, FlippedBytesAndPrefixesAreSafe) {
  for (const char* name : {"byte_level", "unigram_json", "words_json"}) {
    const std::string file = testdata(name + std::string("/tokenizer.json"));
    for (size_t i = first_drawn(); i < file.size(); i += kDrawnStride * (i < 3000 ? 3 : 37)) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
      for (const std::string& content : {changed, file.substr(0, i)}) {
        try {
          ids(*load({{"tokenizer.json", content}}), "a [SEP] é\u3000x");
        } catch (const Error&) {
        }
      }
    }
  }
}

TEST(PipelineJsonTest, DeepNestingIsCorrupt) {
  const std::string deep(100000, '[');
  EXPECT_THAT([&] { load({{"tokenizer.json", "{\"a\": " + deep}}); }, ThrowsCode(Code::kCorrupt));
}

}  // namespace
}  // namespace berth
