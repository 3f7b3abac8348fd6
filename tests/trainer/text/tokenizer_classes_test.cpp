#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "tests/support/captured_log.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/text/tokenizer_fixture.h"

// Which class reads the files of a folder, and what is refused because it is another one's.
namespace berth {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kVocabulary = lines({"[UNK]", "[CLS]", "[SEP]", "a", "b", "[PAD]", "[MASK]"});
const std::string kPieces =
    R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "[CLS]": 4, "[SEP]": 5, "a": 6, "b": 7})";

Files of_type(const std::string& type, Files files = {{"vocab.txt", kVocabulary}}) {
  files["config.json"] = R"({"model_type": ")" + type + "\"}";
  return files;
}

Files of_class(const std::string& name, Files files = {{"vocab.txt", kVocabulary}}) {
  files["tokenizer_config.json"] = R"({"tokenizer_class": ")" + name + "\"}";
  return files;
}

Files merges() { return {{"vocab.json", kPieces}, {"merges.txt", "#version: 0.2\n"}}; }

void refuses(const Files& files, const std::string& what) {
  EXPECT_THAT([&] { load(files); }, ThrowsCode(Code::kBadData, what));
}

Encoding pair_of(const Tokenizer& tokenizer) { return tokenizer.encode("a", "b", 1 << 20); }

TEST(TokenizerClassesTest, TheModelsTypeTellsTheClass) {
  for (const char* type : {"bert", "ernie", "megatron-bert", "nezha", "visual_bert", "convbert"}) {
    EXPECT_THAT(ids(*load(of_type(type)), "a b"), ElementsAre(1, 3, 4, 2)) << type;
  }
  EXPECT_THAT(ids(*load(of_type("data2vec-text", merges())), "a"), ElementsAre(0, 6, 2));
  // Google's releases have no model_type.
  EXPECT_THAT(ids(*load({{"vocab.txt", kVocabulary}, {"config.json", "{}"}}), "a"),
              ElementsAre(1, 3, 2));
}

TEST(TokenizerClassesTest, AClassThatTheTypeTellsAndBerthDoesNotKnowIsRefused) {
  refuses(of_type("canine"), "CanineTokenizer");
  refuses(of_type("big_bird"), "BigBirdTokenizer");
  refuses(of_type("fnet"), "FNetTokenizer");
  refuses(of_type("luke"), "LukeTokenizer");
  refuses(of_type("funnel"), "FunnelTokenizer");
  refuses(of_type("splinter"), "SplinterTokenizer");
  refuses(of_type("roformer"), "RoFormerTokenizer");
  refuses(of_type("roc_bert"), "RoCBertTokenizer");
  refuses(of_type("bertweet"), "BertweetTokenizer");
  refuses(of_type("xlm"), "XLMTokenizer");
  refuses(of_type("flaubert"), "FlaubertTokenizer");
  refuses(of_type("bert-generation"), "BertGenerationTokenizer");
  refuses(of_type("somebody's"), "does not know the model_type");
  EXPECT_THAT(ids(*load(of_class("BertTokenizer", of_type("somebody's"))), "a"),
              ElementsAre(1, 3, 2));
}

TEST(TokenizerClassesTest, FilesOfAnotherClassAreRefused) {
  for (const char* type : {"roberta", "xlm-roberta", "camembert", "albert", "deberta-v2", "xmod"}) {
    refuses(of_type(type), "the folder has vocab.txt");
    EXPECT_THAT(ids(*load(of_class("BertTokenizer", of_type(type))), "a"), ElementsAre(1, 3, 2));
  }
  for (const char* type : {"bert", "xlm-roberta"}) {
    refuses(of_type(type, merges()), "the folder has vocab.json with merges.txt");
  }
  const Files model = {{"spiece.model", testdata("sentencepiece_unigram/spiece.model")}};
  refuses(of_type("bert", model), "the folder has spiece.model");
  refuses(of_type("xlm-roberta", model),
          "which berth reads from sentencepiece.bpe.model; the folder has spiece.model");
  // transformers 5 makes no template for these.
  refuses(of_type("modernbert", model), "no file names the class of the tokenizer");
  refuses(of_class("PreTrainedTokenizerFast", model), "no file names the class of the tokenizer");
}

TEST(TokenizerClassesTest, AClassIsKnownByItsExactName) {
  for (const char* name :
       {"bert", "BERTTokenizer", "NomicBertTokenizer", "XLMRobertaXLTokenizer"}) {
    refuses(of_class(name), cat("the tokenizer's class is ", name, ", which berth does not know"));
  }
  for (const char* name : {"BertTokenizer", "BertTokenizerFast", "ElectraTokenizerFast"}) {
    EXPECT_THAT(ids(*load(of_class(name)), "a"), ElementsAre(1, 3, 2)) << name;
  }
}

// Of the models that transformers maps to a class, berth must know every one, or it would read
// their tokenizer.json as it stands.
TEST(TokenizerClassesTest, TheClassOfEveryModelDecidesBesideTokenizerJson) {
  const Files saved = [] {
    Files files;
    for (const auto& [name, content] : load({{"vocab.txt", kVocabulary}})->files()) {
      if (name == "tokenizer.json") files[name] = content;
    }
    return files;
  }();
  refuses(of_type("clip", saved), "CLIPTokenizer");
  refuses(of_type("dpr", saved), "DPRQuestionEncoderTokenizer");
  refuses(of_type("gpt2", saved), "the tokenizer's class, by the model's type, is of BPE");
  refuses(of_type("trocr", saved), "the tokenizer's class, by the model's type, is of Unigram");
  for (const char* type : {"vilt", "nezha", "neobert"}) {
    EXPECT_THAT(ids(*load(of_type(type, saved)), "a"), ElementsAre(1, 3, 2)) << type;
  }
}

TEST(TokenizerClassesTest, FilesThatTransformersReadsOtherwiseAreRefused) {
  Files files = of_type("roberta", merges());
  files["tokenizer.model"] = "";
  refuses(files,
          "tokenizer.model beside vocab.json with merges.txt, and transformers 5 reads it first");
  files.erase("tokenizer.model");
  files["tokenizer_config.json"] = R"({"extra_special_tokens": {"ent_token": "<ent>"},
                                       "additional_special_tokens": ["<x>"]})";
  refuses(files, "extra_special_tokens has names, beside a list");
}

TEST(TokenizerClassesTest, AddedTokensWhoseIdsTransformersChangesAreRefused) {
  Files files = of_type("roberta", merges());
  files["added_tokens.json"] = R"({"New": 20})";
  refuses(files, R"(a file gives the added token "New" the id 20, and transformers 5 gives it 8)");
  files["tokenizer_config.json"] = R"({"tokenizer_class": "GPT2Tokenizer", "add_eos_token": true})";
  files.erase("added_tokens.json");
  refuses(files, "\"add_eos_token\" changes the special tokens of GPT2Tokenizer");
}

TEST(TokenizerClassesTest, ARefusedModelIsNamedByItsMembersWhereItHasNoType) {
  const auto of_model = [](const std::string& model) {
    return of_type("xlm-roberta", {{"tokenizer.json", R"({"model": {)" + model + "}}"}});
  };
  refuses(of_model(R"("vocab": {"a": 0}, "merges": [])"), "its model is \"BPE\", but");
  refuses(of_model(R"("vocab": {"a": 0})"), "its model is \"WordPiece\", but");
  refuses(of_model(R"("type": "Unigram", "vocab": {"a": 0})"),
          "its model is \"Unigram\" with a vocabulary of another form, but");
}

TEST(TokenizerClassesTest, DebertaSeparatesPairsTwice) {
  const auto tokenizer = load(of_type("deberta", merges()));
  EXPECT_THAT(pair_of(*tokenizer).input_ids, ElementsAre(4, 6, 5, 5, 7, 5));
  EXPECT_FALSE(tokenizer->has_token_types());
}

TEST(TokenizerClassesTest, TokenizersBackendGivesNoTypesUnlessItNamesThem) {
  Files bert;
  for (const auto& [name, content] : load({{"vocab.txt", kVocabulary}})->files()) {
    if (name == "tokenizer.json") bert[name] = content;
  }
  EXPECT_THAT(pair_of(*load(of_class("BertTokenizer", bert))).token_type_ids,
              ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(pair_of(*load(of_class("TokenizersBackend", bert))).token_type_ids, Each(0));
  bert["tokenizer_config.json"] =
      R"({"tokenizer_class": "TokenizersBackend", "model_input_names": ["token_type_ids"]})";
  EXPECT_THAT(pair_of(*load(bert)).token_type_ids, ElementsAre(0, 0, 0, 1, 1));
  bert["tokenizer_config.json"] = "{}";
  bert["config.json"] = R"({"tokenizer_class": "TokenizersBackend"})";
  EXPECT_THAT(pair_of(*load(bert)).token_type_ids, Each(0));
}

// The two versions of transformers differ for these. Single texts have no types anyway.
TEST(TokenizerClassesTest, TypesThatTransformers5LeavesOutAreToldAtTheFirstPair) {
  Files bert;
  for (const auto& [name, content] : load({{"vocab.txt", kVocabulary}})->files()) {
    if (name == "tokenizer.json") bert[name] = content;
  }
  const auto warnings = [&](const Files& files) {
    const auto tokenizer = load(files);
    EXPECT_TRUE(tokenizer->has_token_types());
    CapturedLog log;
    ids(*tokenizer, "a");
    EXPECT_EQ(log.warnings(), "");
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(pair_of(*tokenizer).token_type_ids, testing::Contains(1));
    }
    const std::string text = log.warnings();
    EXPECT_EQ(text.find("model_input_names"), text.rfind("model_input_names"));
    return text;
  };
  EXPECT_THAT(warnings(of_class("PreTrainedTokenizerFast", bert)),
              HasSubstr("the class PreTrainedTokenizerFast gives token types to pairs"));
  EXPECT_EQ(warnings(of_class("BertTokenizer", bert)), "");
  EXPECT_EQ(warnings(of_class("PreTrainedTokenizerFast", of_type("modernbert", bert))), "");
  Json root = parse_json(bert["tokenizer.json"]);
  root["model"] = {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", Json::array()}};
  for (const char* piece : {"[UNK]", "[CLS]", "[SEP]", "a", "b", "[PAD]", "[MASK]"}) {
    root["model"]["vocab"].push_back(Json::array({piece, -1.0}));
  }
  Files albert = of_type("albert", {{"tokenizer.json", to_text(root)}});
  EXPECT_THAT(warnings(albert), HasSubstr("the class AlbertTokenizer gives token types to pairs"));
  albert["tokenizer_config.json"] =
      R"({"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]})";
  EXPECT_EQ(warnings(albert), "");
}

TEST(TokenizerClassesTest, DistilBertInTheModelsConfigurationGivesNoTypes) {
  Files files = of_type("bert");
  EXPECT_THAT(pair_of(*load(files)).token_type_ids, ElementsAre(0, 0, 0, 1, 1));
  files["config.json"] = R"({"model_type": "bert", "tokenizer_class": "DistilBertTokenizer"})";
  std::vector<std::string> rules;
  const auto tokenizer = load(files, {}, &rules);
  EXPECT_THAT(pair_of(*tokenizer).token_type_ids, Each(0));
  EXPECT_THAT(rules, testing::Contains(HasSubstr("gives no token types")));
}

// mmBERT names Gemma's class, for example.
TEST(TokenizerClassesTest, ModernBertIsReadByTokenizerJsonAlone) {
  Files bert;
  for (const auto& [name, content] : load({{"vocab.txt", kVocabulary}})->files()) {
    if (name == "tokenizer.json") bert[name] = content;
  }
  for (const char* name : {"GemmaTokenizer", "LlamaTokenizerFast"}) {
    EXPECT_THAT(ids(*load(of_class(name, of_type("modernbert", bert))), "a b"),
                ElementsAre(1, 3, 4, 2));
    refuses(of_class(name, of_type("modernbert")), "which berth does not know");
    refuses(of_class(name, of_type("bert", bert)), "which berth does not know");
  }
}

TEST(TokenizerClassesTest, CapitalLettersAreKeptWithAWarning) {
  CapturedLog log;
  load({{"vocab.txt", kVocabulary}});
  EXPECT_EQ(log.warnings(), "");
  const Files cased = {{"vocab.txt", kVocabulary + "B\n"}};
  EXPECT_THAT(ids(*load(cased), "B"), ElementsAre(1, 7, 2));
  EXPECT_THAT(log.warnings(), HasSubstr("do_lower_case"));
}

TEST(TokenizerClassesTest, SpecialTokensOutsideTheVocabularyAreTold) {
  Files files = {{"vocab.txt", kVocabulary + "<s>\n"},
                 {"tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>"})"}};
  CapturedLog log;
  EXPECT_THAT(ids(*load(files), "a<s>"), ElementsAre(1, 3, 7, 2));
  EXPECT_THAT(log.warnings(), HasSubstr("has no </s>."));
}

TEST(TokenizerClassesTest, AnUnknownSideASpecialTokenOfItsOwnAndNullAreRefused) {
  const auto with = [](const std::string& config) {
    return Files{{"vocab.txt", kVocabulary}, {"tokenizer_config.json", config}};
  };
  EXPECT_THAT([&] { load(with(R"({"truncation_side": "LEFT"})")); },
              ThrowsCode(Code::kUsage, "truncation_side"));
  EXPECT_THAT([&] { load(with(R"({"ent_token": "<ent>"})")); },
              ThrowsCode(Code::kUsage, "\"ent_token\""));
  EXPECT_NO_THROW(load(with(R"({"ent_token": null})")));
  refuses(with(R"({"mask_token": null})"), "\"mask_token\" is null");
  refuses(with(R"({"pad_token": null})"), "\"pad_token\" is null");
  Files saved;
  for (const auto& [name, content] : load({{"vocab.txt", kVocabulary}})->files()) {
    if (name == "tokenizer.json") saved[name] = content;
  }
  saved["tokenizer_config.json"] = R"({"tokenizer_class": "BertTokenizer", "cls_token": null})";
  refuses(saved, "names no token (null)");
}

TEST(TokenizerClassesTest, WhatByteLevelPiecesAndTwoTemplatesMeanIsRefused) {
  Json root = {
      {"added_tokens", Json::array()},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"model", {{"type", "BPE"}, {"vocab", parse_json(kPieces)}, {"merges", Json::array()}}}};
  EXPECT_NO_THROW(load({{"tokenizer.json", to_text(root)}}));
  Json suffixed = root;
  suffixed["model"]["end_of_word_suffix"] = "</w>";
  refuses({{"tokenizer.json", to_text(suffixed)}}, "end_of_word_suffix");
  const Json one = {{"type", "BertProcessing"},
                    {"cls", Json::array({"[CLS]", 4})},
                    {"sep", Json::array({"[SEP]", 5})}};
  root["post_processor"] = {{"type", "Sequence"}, {"processors", Json::array({one, one})}};
  refuses({{"tokenizer.json", to_text(root)}}, "two steps");
}

TEST(TokenizerClassesTest, AlbertFindsAddedTokensInLowerCasedText) {
  Files files = {
      {"spiece.model", testdata("sentencepiece_unigram/spiece.model")},
      {"config.json", R"({"model_type": "albert"})"},
      {"added_tokens.json", R"({"[CLS]": 560, "[SEP]": 561, "newword": 562, "covid-19": 563})"}};
  const auto tokenizer = load(files);
  for (const char* text : {"NEWWORD", "newword"}) {
    EXPECT_THAT(ids(*tokenizer, text), ElementsAre(560, 562, 561)) << text;
  }
  EncodeOptions options(1 << 20);
  options.with_offsets = true;
  const Encoding encoding = tokenizer->encode("A Covid-19", std::nullopt, options);
  const auto& found = encoding.input_ids;
  const auto at = static_cast<size_t>(std::find(found.begin(), found.end(), 563) - found.begin());
  ASSERT_LT(at, found.size());
  EXPECT_EQ(encoding.offsets[at].begin, 2u);
  EXPECT_EQ(encoding.offsets[at].end, 10u);
}

}  // namespace
}  // namespace berth
