#include "trainer/text/training/tokenizer_files.h"

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "trainer/text/added_tokens.h"

namespace berth {

namespace {

// Writes the vocabulary piece by piece, because building an ordered JSON object with 50,000 members
// takes quadratic time.
std::string vocabulary_json(const std::vector<std::string>& pieces) {
  std::string text = "{";
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (id > 0) text += ", ";
    text += to_text(OrderedJson(pieces[id])) + ": " + std::to_string(id);
  }
  return text + "}";
}

std::string byte_level_config() {
  OrderedJson config = {{"tokenizer_class", "RobertaTokenizer"},
                        {"clean_up_tokenization_spaces", false},
                        {"add_prefix_space", false},
                        {"trim_offsets", true},
                        {"errors", "replace"}};
  for (const auto& [name, token] : roberta_token_names()) config[name] = token;
  config["added_tokens_decoder"] = added_tokens_decoder(roberta_tokens());
  return to_text(config, 2) + "\n";
}

std::string byte_level_json(const std::vector<std::string>& pieces,
                            const std::vector<std::pair<int32_t, int32_t>>& merges) {
  OrderedJson pairs = OrderedJson::array();
  for (const auto& [left, right] : merges) {
    pairs.push_back({pieces[static_cast<size_t>(left)], pieces[static_cast<size_t>(right)]});
  }
  const OrderedJson head = {{"version", "1.0"},
                            {"truncation", nullptr},
                            {"padding", nullptr},
                            {"added_tokens", added_token_list(roberta_tokens())},
                            {"normalizer", nullptr},
                            {"pre_tokenizer",
                             {{"type", "ByteLevel"},
                              {"add_prefix_space", false},
                              {"trim_offsets", true},
                              {"use_regex", true}}},
                            {"post_processor",
                             {{"type", "RobertaProcessing"},
                              {"sep", OrderedJson::array({"</s>", 2})},
                              {"cls", OrderedJson::array({"<s>", 0})},
                              {"trim_offsets", true},
                              {"add_prefix_space", false}}},
                            {"decoder",
                             {{"type", "ByteLevel"},
                              {"add_prefix_space", true},
                              {"trim_offsets", true},
                              {"use_regex", true}}}};
  const OrderedJson model = {{"type", "BPE"},
                             {"dropout", nullptr},
                             {"unk_token", nullptr},
                             {"continuing_subword_prefix", ""},
                             {"end_of_word_suffix", ""},
                             {"fuse_unk", false},
                             {"byte_fallback", false},
                             {"ignore_merges", false}};
  std::string text = to_text(head, 2);
  text.resize(text.rfind('\n'));
  std::string model_text = to_text(model);
  model_text.pop_back();
  return text + ",\n  \"model\": " + model_text + ",\n    \"vocab\": " + vocabulary_json(pieces) +
         ",\n    \"merges\": " + to_text(pairs) + "\n  }\n}\n";
}

std::string merge_lines(const std::vector<std::string>& pieces,
                        const std::vector<std::pair<int32_t, int32_t>>& merges) {
  std::string lines = "#version: 0.2\n";
  for (const auto& [left, right] : merges) {
    lines += pieces[static_cast<size_t>(left)] + " " + pieces[static_cast<size_t>(right)] + "\n";
  }
  return lines;
}

}  // namespace

std::vector<AddedToken> roberta_tokens() {
  std::vector<AddedToken> tokens;
  for (const char* content : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}) {
    AddedToken& token = tokens.emplace_back();
    token.content = content;
    token.id = static_cast<int32_t>(tokens.size()) - 1;
  }
  tokens.back().lstrip = true;
  return tokens;
}

std::vector<std::pair<std::string, std::string>> roberta_token_names() {
  return {{"bos_token", "<s>"},    {"eos_token", "</s>"},  {"sep_token", "</s>"},
          {"cls_token", "<s>"},    {"unk_token", "<unk>"}, {"pad_token", "<pad>"},
          {"mask_token", "<mask>"}};
}

std::vector<Tokenizer::File> byte_level_files(
    const std::vector<std::string>& pieces,
    const std::vector<std::pair<int32_t, int32_t>>& merges) {
  OrderedJson names;
  for (const auto& [name, token] : roberta_token_names()) names[name] = token;
  return {{"vocab.json", vocabulary_json(pieces) + "\n"},
          {"merges.txt", merge_lines(pieces, merges)},
          {"tokenizer_config.json", byte_level_config()},
          {"special_tokens_map.json", to_text(names, 2) + "\n"},
          {"tokenizer.json", byte_level_json(pieces, merges)}};
}

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
