#include <algorithm>
#include <nlohmann/json.hpp>

#include "trainer/text/json_reading.h"
#include "trainer/text/tokenizer_settings.h"

namespace berth {

namespace {

using Json = nlohmann::json;

// The part of the pipeline named `name`; null where the file has none. Throws unless its type is
// `type`.
const Json* part(const Json& root, const char* name, std::string_view type) {
  const Json* found = member(root, name);
  if (found == nullptr) return nullptr;
  const std::string actual = string_member(*found, "type").value_or("");
  if (actual != type) {
    throw Error(Code::kBadData, cat("its ", name, " is ", quoted(actual), ", not ", type), "",
                "only BERT WordPiece tokenizers are read");
  }
  return found;
}

void read_normalizer(const Json& root, TokenizerSettings& settings) {
  BertTokenizerOptions& options = settings.options;
  const Json* normalizer = part(root, "normalizer", "BertNormalizer");
  if (normalizer == nullptr) {
    options.clean_text = options.handle_chinese_chars = false;
    settings.lowercase = false;
    return;
  }
  options.clean_text = bool_member(*normalizer, "clean_text").value_or(true);
  options.handle_chinese_chars = bool_member(*normalizer, "handle_chinese_chars").value_or(true);
  options.strip_accents = bool_member(*normalizer, "strip_accents");
  settings.lowercase = bool_member(*normalizer, "lowercase").value_or(true);
}

std::string special_token_at(const Json& parts, size_t i) {
  const Json* token = i < parts.size() ? member(parts[i], "SpecialToken") : nullptr;
  if (token == nullptr) {
    throw Error(Code::kBadData, "its post_processor does not give [CLS] text [SEP]");
  }
  return string_member(*token, "id").value_or("");
}

// The names of [CLS] and [SEP] from BertProcessing or from a template "[CLS] A [SEP]".
void read_post_processor(const Json& root, BertTokenizerOptions& options) {
  const Json* processor = member(root, "post_processor");
  if (processor == nullptr) return;
  const std::string type = string_member(*processor, "type").value_or("");
  if (type == "BertProcessing") {
    for (const auto& [name, token] :
         {std::pair{"sep", &options.sep_token}, std::pair{"cls", &options.cls_token}}) {
      const Json* value = member(*processor, name);
      if (value == nullptr || !value->is_array() || value->empty() || !value->front().is_string()) {
        throw Error(Code::kBadData, cat("its post_processor has no ", name));
      }
      *token = value->front().get<std::string>();
    }
    return;
  }
  part(root, "post_processor", "TemplateProcessing");
  const Json* single = member(*processor, "single");
  if (single == nullptr || !single->is_array() || single->size() != 3) {
    throw Error(Code::kBadData, "its post_processor does not give [CLS] text [SEP]");
  }
  options.cls_token = special_token_at(*single, 0);
  options.sep_token = special_token_at(*single, 2);
}

std::vector<std::string> read_vocabulary(const Json& model) {
  const Json* vocabulary = member(model, "vocab");
  if (vocabulary == nullptr || !vocabulary->is_object()) {
    throw Error(Code::kBadData, "its model has no vocab");
  }
  std::vector<std::string> pieces;
  const size_t most = 4 * vocabulary->size() + 1000;  // ids may have holes, but not mostly holes
  for (const auto& [piece, id] : vocabulary->items()) {
    const auto index = static_cast<size_t>(count_of(id, "the id of a piece"));
    if (index >= most) {
      throw Error(Code::kBadData, cat("the id of ", quoted(piece), " is ", index,
                                      " in a vocabulary of ", vocabulary->size()));
    }
    if (index >= pieces.size()) pieces.resize(index + 1);
    pieces[index] = piece;
  }
  return pieces;
}

}  // namespace

std::vector<std::string> read_tokenizer_json(std::string_view content,
                                             TokenizerSettings& settings) {
  const Json root = parse_object<Json>(content);
  const Json* model = member(root, "model");
  if (model == nullptr) throw Error(Code::kBadData, "it has no model");
  if (member(*model, "type") != nullptr) part(root, "model", "WordPiece");  // old files omit it
  part(root, "pre_tokenizer", "BertPreTokenizer");
  read_normalizer(root, settings);
  read_post_processor(root, settings.options);
  WordPieceOptions& wordpiece = settings.wordpiece;
  if (const auto unk = string_member(*model, "unk_token")) wordpiece.unk_token = *unk;
  if (const auto prefix = string_member(*model, "continuing_subword_prefix")) {
    wordpiece.continuing_subword_prefix = *prefix;
  }
  if (const Json* limit = member(*model, "max_input_chars_per_word")) {
    wordpiece.max_input_chars_per_word =
        static_cast<uint64_t>(count_of(*limit, "max_input_chars_per_word"));
  }
  if (const Json* added = member(root, "added_tokens"); added != nullptr && added->is_array()) {
    for (const Json& value : *added) {
      AddedToken token = token_of(value, false, true);
      if (const Json* id = member(value, "id")) token.id = count_of(*id, "the id of a token");
      settings.added_tokens.push_back(std::move(token));
    }
  }
  return read_vocabulary(*model);
}

}  // namespace berth
