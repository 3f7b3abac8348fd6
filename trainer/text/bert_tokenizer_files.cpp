#include "trainer/text/bert_tokenizer_files.h"

#include <nlohmann/json.hpp>
#include <string>

#include "storage/base/json.h"
#include "trainer/text/added_token_json.h"

namespace berth {

namespace {

OrderedJson optional(const auto& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

std::string vocabulary_lines(const WordPiece& wordpiece) {
  std::string lines;
  for (int32_t id = 0; id < wordpiece.size(); ++id) {
    lines += wordpiece.piece(id);
    lines += '\n';
  }
  return lines;
}

OrderedJson special_tokens(const WordPiece& wordpiece, const BertTokenizerOptions& options) {
  return {{"unk_token", wordpiece.options().unk_token},
          {"sep_token", options.sep_token},
          {"pad_token", options.pad_token},
          {"cls_token", options.cls_token},
          {"mask_token", options.mask_token}};
}

OrderedJson tokenizer_config(const WordPiece& wordpiece, const BertTokenizerOptions& options) {
  // The classes of BERT and MPNet have no other values of these.
  const WordPieceOptions usual;
  const bool is_unusual =
      !options.clean_text ||
      wordpiece.options().continuing_subword_prefix != usual.continuing_subword_prefix ||
      wordpiece.options().max_input_chars_per_word != usual.max_input_chars_per_word;
  const char* class_name = is_unusual                ? "PreTrainedTokenizerFast"
                           : options.separates_twice ? "MPNetTokenizer"
                           : options.has_token_types ? "BertTokenizer"
                                                     : "DistilBertTokenizer";
  OrderedJson config = {{"tokenizer_class", class_name},
                        {"clean_up_tokenization_spaces", false},
                        {"do_lower_case", options.lowercase},
                        {"strip_accents", optional(options.strip_accents)},
                        {"tokenize_chinese_chars", options.handle_chinese_chars}};
  config.update(special_tokens(wordpiece, options));
  if (options.model_max_length) config["model_max_length"] = *options.model_max_length;
  if (is_unusual) {
    config["model_input_names"] = OrderedJson::array({"input_ids", "attention_mask"});
    if (options.has_token_types) config["model_input_names"].push_back("token_type_ids");
  }
  if (options.cuts_left) config["truncation_side"] = "left";
  config["added_tokens_decoder"] = added_tokens_decoder(options.added_tokens);
  return config;
}

OrderedJson template_of(const BertTokenizerOptions& options, bool pair) {
  const auto special = [](const std::string& token, int type) {
    return OrderedJson{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) {
    return OrderedJson{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  OrderedJson parts = OrderedJson::array(
      {special(options.cls_token, 0), sequence("A", 0), special(options.sep_token, 0)});
  if (pair) {
    parts.push_back(sequence("B", 1));
    parts.push_back(special(options.sep_token, 1));
  }
  return parts;
}

int32_t id_of(const std::string& token, const WordPiece& wordpiece,
              const BertTokenizerOptions& options) {
  for (const AddedToken& added : options.added_tokens) {
    if (added.content == token) return added.id;
  }
  return wordpiece.find(token);
}

OrderedJson post_processor(const WordPiece& wordpiece, const BertTokenizerOptions& options) {
  if (options.separates_twice) {
    const auto with_id = [&](const std::string& token) {
      return OrderedJson::array({token, id_of(token, wordpiece, options)});
    };
    return {{"type", "RobertaProcessing"},
            {"sep", with_id(options.sep_token)},
            {"cls", with_id(options.cls_token)},
            {"trim_offsets", true},
            {"add_prefix_space", false}};
  }
  OrderedJson tokens = OrderedJson::object();
  for (const std::string& token : {options.cls_token, options.sep_token}) {
    tokens[token] = {{"id", token},
                     {"ids", OrderedJson::array({id_of(token, wordpiece, options)})},
                     {"tokens", OrderedJson::array({token})}};
  }
  return {{"type", "TemplateProcessing"},
          {"single", template_of(options, false)},
          {"pair", template_of(options, true)},
          {"special_tokens", tokens}};
}

// Writes tokenizer.json. The vocabulary is written piece by piece, because building an ordered JSON
// object with 30,000 members takes quadratic time.
std::string tokenizer_json(const WordPiece& wordpiece, const BertTokenizerOptions& options) {
  const std::string& prefix = wordpiece.options().continuing_subword_prefix;
  const OrderedJson head = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added_token_list(options.added_tokens)},
      {"normalizer",
       {{"type", "BertNormalizer"},
        {"clean_text", options.clean_text},
        {"handle_chinese_chars", options.handle_chinese_chars},
        {"strip_accents", optional(options.strip_accents)},
        {"lowercase", options.lowercase}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor", post_processor(wordpiece, options)},
      {"decoder", {{"type", "WordPiece"}, {"prefix", prefix}, {"cleanup", true}}}};
  const OrderedJson model = {
      {"type", "WordPiece"},
      {"unk_token", wordpiece.options().unk_token},
      {"continuing_subword_prefix", prefix},
      {"max_input_chars_per_word", wordpiece.options().max_input_chars_per_word}};
  std::string text = to_text(head, 2);
  text.resize(text.rfind('\n'));
  std::string model_text = to_text(model);
  model_text.pop_back();
  text += ",\n  \"model\": " + model_text + ", \"vocab\": {";
  const char* separator = "\n";
  for (int32_t id = 0; id < wordpiece.size(); ++id) {
    const std::string_view piece = wordpiece.piece(id);
    if (wordpiece.find(piece) != id) continue;  // an unused id, or a later line has the same piece
    text +=
        separator + std::string("    ") + to_text(OrderedJson(piece)) + ": " + std::to_string(id);
    separator = ",\n";
  }
  return text + "\n  }}\n}\n";
}

}  // namespace

std::vector<Tokenizer::File> bert_tokenizer_files(const WordPiece& wordpiece,
                                                  const BertTokenizerOptions& options) {
  return {{"vocab.txt", vocabulary_lines(wordpiece)},
          {"tokenizer_config.json", to_text(tokenizer_config(wordpiece, options), 2) + "\n"},
          {"special_tokens_map.json", to_text(special_tokens(wordpiece, options), 2) + "\n"},
          {"tokenizer.json", tokenizer_json(wordpiece, options)}};
}

}  // namespace berth
