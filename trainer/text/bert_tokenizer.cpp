#include "trainer/text/bert_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/added_tokens.h"
#include "trainer/text/word_model.h"

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
            {"trim_offsets", options.trim_spans},
            {"add_prefix_space", options.add_prefix_space}};
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

// Returns vocab.txt, tokenizer_config.json, special_tokens_map.json and tokenizer.json, in the
// format of transformers (`BertTokenizer` or `DistilBertTokenizer`) and of `tokenizers` (file
// version 1.0).
std::vector<Tokenizer::File> bert_tokenizer_files(const WordPiece& wordpiece,
                                                  const BertTokenizerOptions& options) {
  return {{"vocab.txt", vocabulary_lines(wordpiece)},
          {"tokenizer_config.json", to_text(tokenizer_config(wordpiece, options), 2) + "\n"},
          {"special_tokens_map.json", to_text(special_tokens(wordpiece, options), 2) + "\n"},
          {"tokenizer.json", tokenizer_json(wordpiece, options)}};
}

NormalizerOptions normalizer_options(const BertTokenizerOptions& options) {
  return {.clean_text = options.clean_text,
          .handle_chinese_chars = options.handle_chinese_chars,
          .strip_accents = options.strip_accents.value_or(options.lowercase),
          .lowercase = options.lowercase};
}

constexpr NormalizerOptions kNothing{false, false, false, false};

int32_t id_of_special(const std::string& token, const WordPiece& wordpiece,
                      const BertTokenizerOptions& options) {
  const int32_t id = id_of(token, wordpiece, options);
  if (id < 0) throw Error(Code::kBadData, cat("the vocabulary has no ", quoted(token)));
  return id;
}

SpecialTokensTemplate template_of(const WordPiece& wordpiece, const BertTokenizerOptions& options) {
  const int32_t cls = id_of_special(options.cls_token, wordpiece, options);
  const int32_t sep = id_of_special(options.sep_token, wordpiece, options);
  SpecialTokensTemplate special = options.separates_twice ? SpecialTokensTemplate::roberta(cls, sep)
                                                          : SpecialTokensTemplate::bert(cls, sep);
  if (!options.has_token_types) special.remove_types();
  special.cuts_left = options.cuts_left;
  return special;
}

PipelineOptions pipeline_options(const BertTokenizerOptions& options) {
  return {.added_tokens = options.added_tokens,
          .normalize = bert_normalization(normalizer_options(options)),
          .split = bert_splitting(),
          .splits_at_spaces = true,
          .trim_spans = options.trim_spans,
          .add_prefix_space = options.add_prefix_space};
}

}  // namespace

BertTokenizer::BertTokenizer(WordPiece wordpiece, BertTokenizerOptions options)
    : TemplateTokenizer(template_of(wordpiece, options)),
      options_(std::move(options)),
      wordpiece_(std::move(wordpiece)),
      normalizer_(normalizer_options(options_)),
      untouched_(kNothing),
      raw_tokens_(options_.added_tokens),
      normalized_tokens_(
          options_.added_tokens,
          [this](const std::string& content) { return normalizer_.normalized(content); }),
      model_(wordpiece_),
      aligned_(pipeline_options(options_), model_),
      vocab_size_(wordpiece_.size()) {
  for (const AddedToken& token : options_.added_tokens) {
    vocab_size_ = std::max(vocab_size_, token.id + 1);
  }
}

std::string BertTokenizer::token(int32_t id) const {
  for (const AddedToken& added : options_.added_tokens) {
    if (added.id == id) return added.content;
  }
  return model_.token(id);
}

void BertTokenizer::append_words(const Normalizer& normalizer, std::string_view text,
                                 Tokens& tokens) const {
  auto words = word_splitter(wordpiece_, tokens.enough, tokens.ids);
  normalizer.normalize(text, words);
  words.end_word();
}

void BertTokenizer::append(std::string_view text, Tokens& tokens) const {
  if (tokens.with_spans) {
    aligned_.append(text, tokens);
    return;
  }
  raw_tokens_.split(text, [&](AddedTokenFinder::Piece piece) {
    if (piece.id >= 0) {
      tokens.ids.push_back(piece.id);
    } else if (normalized_tokens_.empty()) {
      append_words(normalizer_, piece.text, tokens);
    } else {
      const std::string normalized = normalizer_.normalized(piece.text);
      normalized_tokens_.split(normalized, [&](AddedTokenFinder::Piece part) {
        if (part.id >= 0) {
          tokens.ids.push_back(part.id);
        } else {
          append_words(untouched_, part.text, tokens);
        }
        return !tokens.full();
      });
    }
    return !tokens.full();
  });
}

std::vector<Tokenizer::File> BertTokenizer::files() const {
  return bert_tokenizer_files(wordpiece_, options_);
}

}  // namespace berth
