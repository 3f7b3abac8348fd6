#include "trainer/text/training/unigram_files.h"

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "trainer/text/added_token_json.h"
#include "trainer/text/training/byte_level_files.h"

namespace berth {

namespace {

constexpr const char* kSpaceRuns = "\\s{2,}|[\\n\\r\\t]";
constexpr const char* kSpaceSignText = "\xE2\x96\x81";

// RoBERTa's special tokens, but for the id of the last.
std::vector<AddedToken> special_tokens_of(size_t num_pieces) {
  std::vector<AddedToken> tokens = roberta_tokens();
  tokens.back().id = static_cast<int32_t>(tokens.size() - 1 + num_pieces);
  return tokens;
}

OrderedJson metaspace_json() {
  return {{"type", "Metaspace"},
          {"replacement", kSpaceSignText},
          {"prepend_scheme", "always"},
          {"split", true}};
}

// The steps of unigram_normalization().
OrderedJson normalizer_json() {
  const auto replace = [](const char* regex) {
    return OrderedJson{{"type", "Replace"}, {"pattern", {{"Regex", regex}}}, {"content", " "}};
  };
  return {{"type", "Sequence"},
          {"normalizers",
           OrderedJson::array({replace(kSpaceRuns),
                               {{"type", "NFKC"}},
                               replace(" {2,}"),
                               {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}})}};
}

OrderedJson template_json() {
  const auto special = [](const char* token, int type) {
    return OrderedJson{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name) {
    return OrderedJson{{"Sequence", {{"id", name}, {"type_id", 0}}}};
  };
  const auto token = [](const char* name, int id) {
    return OrderedJson{
        {"id", name}, {"ids", OrderedJson::array({id})}, {"tokens", OrderedJson::array({name})}};
  };
  return {{"type", "TemplateProcessing"},
          {"single", OrderedJson::array({special("<s>", 0), sequence("A"), special("</s>", 0)})},
          {"pair", OrderedJson::array({special("<s>", 0), sequence("A"), special("</s>", 0),
                                       special("</s>", 0), sequence("B"), special("</s>", 0)})},
          {"special_tokens", {{"<s>", token("<s>", 0)}, {"</s>", token("</s>", 2)}}}};
}

OrderedJson model_json(const std::vector<std::pair<std::string, double>>& pieces) {
  const std::vector<AddedToken> special = special_tokens_of(pieces.size());
  OrderedJson vocabulary = OrderedJson::array();
  for (const AddedToken& token : special) {
    if (&token == &special.back()) {
      for (const auto& [piece, score] : pieces) {
        vocabulary.push_back(OrderedJson::array({piece, score}));
      }
    }
    vocabulary.push_back(OrderedJson::array({token.content, 0.0}));
  }
  return {{"type", "Unigram"}, {"unk_id", 3}, {"vocab", vocabulary}, {"byte_fallback", false}};
}

}  // namespace

NormalizationStep unigram_normalization() {
  return in_sequence({replacing_spaces(" "), unicode_form(UnicodeForm::kNfkc),
                      replacing_runs(' ', 2, " "), trimming(true, true)});
}

SplitStep unigram_splitting() { return metaspace(kSpaceSignText, PrependScheme::kAlways, true); }

std::vector<Tokenizer::File> unigram_files(
    const std::vector<std::pair<std::string, double>>& pieces) {
  const std::vector<AddedToken> special = special_tokens_of(pieces.size());
  const OrderedJson tokenizer = {{"version", "1.0"},
                                 {"truncation", nullptr},
                                 {"padding", nullptr},
                                 {"added_tokens", added_token_list(special)},
                                 {"normalizer", normalizer_json()},
                                 {"pre_tokenizer", metaspace_json()},
                                 {"post_processor", template_json()},
                                 {"decoder", metaspace_json()},
                                 {"model", model_json(pieces)}};
  OrderedJson names;
  for (const auto& [name, token] : roberta_token_names()) names[name] = token;
  OrderedJson config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                        {"clean_up_tokenization_spaces", false}};
  config.update(names);
  config["added_tokens_decoder"] = added_tokens_decoder(special);
  return {{"tokenizer_config.json", to_text(config, 2) + "\n"},
          {"special_tokens_map.json", to_text(names, 2) + "\n"},
          {"tokenizer.json", to_text(tokenizer) + "\n"}};
}

}  // namespace berth
