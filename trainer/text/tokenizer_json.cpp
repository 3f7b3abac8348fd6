#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/pipeline_json.h"
#include "trainer/text/tokenizer_settings.h"

namespace berth {

namespace {

std::string type_of(const Json& root, const char* name) {
  const Json* part = member(root, name);
  return part == nullptr ? "" : string_member(*part, "type").value_or("");
}

void read_normalizer(const Json& root, TokenizerSettings& settings) {
  BertTokenizerOptions& options = settings.options;
  const Json* normalizer = member(root, "normalizer");
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

std::optional<std::string> special_token_of(const Json& part) {
  const Json* token = member(part, "SpecialToken");
  return token == nullptr ? std::nullopt : string_member(*token, "id");
}

// Returns the first text of "sep" or "cls" in BertProcessing or RobertaProcessing.
std::optional<std::string> first_text(const Json& processor, const char* name) {
  const Json* value = member(processor, name);
  if (value == nullptr || !value->is_array() || value->empty() || !value->front().is_string()) {
    return std::nullopt;
  }
  return value->front().get<std::string>();
}

int32_t id_in(const Json& root, const std::string& token) {
  for (const AddedToken& added : read_added_tokens_list(root)) {
    if (added.content == token) return added.id;
  }
  const Json* vocabulary = member(*member(root, "model"), "vocab");
  const Json* id = vocabulary == nullptr ? nullptr : member(*vocabulary, token.c_str());
  return id == nullptr ? -1 : count_of(*id, "the id of a piece");
}

// Reads the names of [CLS] and [SEP] from BertProcessing, from RobertaProcessing, which MPNet has,
// or from the templates "[CLS] A [SEP]" and "[CLS] A [SEP] B [SEP]" with BERT's types. Returns
// false for any other post-processor, and if a name has another id in the vocabulary.
bool read_post_processor(const Json& root, BertTokenizerOptions& options) {
  const Json* processor = member(root, "post_processor");
  if (processor == nullptr) return false;
  const std::string type = type_of(root, "post_processor");
  std::optional<std::string> cls, sep;
  const Json* single = member(*processor, "single");
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    cls = first_text(*processor, "cls");
    sep = first_text(*processor, "sep");
  } else if (type == "TemplateProcessing" && single != nullptr && single->size() == 3) {
    cls = special_token_of((*single)[0]);
    sep = special_token_of((*single)[2]);
  }
  if (!cls || !sep) return false;
  options.separates_twice = type == "RobertaProcessing";
  options.cls_token = *cls;
  options.sep_token = *sep;
  const int32_t cls_id = id_in(root, *cls), sep_id = id_in(root, *sep);
  return read_post_processing(to_text(*processor)).special ==
         (options.separates_twice ? SpecialTokensTemplate::roberta(cls_id, sep_id)
                                  : SpecialTokensTemplate::bert(cls_id, sep_id));
}

std::vector<std::string> pieces_by_id(const Json& model) {
  const Json* vocabulary = member(model, "vocab");
  if (vocabulary == nullptr || !vocabulary->is_object()) {
    throw Error(Code::kBadData, "its model has no vocab");
  }
  std::vector<std::string> pieces;
  const size_t most = 4 * vocabulary->size() + 1000;  // ids may have some gaps
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

std::optional<std::vector<std::string>> read_bert_tokenizer_json(const Json& root,
                                                                 TokenizerSettings& settings) {
  const Json* model = member(root, "model");
  if (model == nullptr) throw Error(Code::kBadData, "it has no model");
  const std::string model_type = type_of(root, "model"), normalizer = type_of(root, "normalizer");
  if ((!model_type.empty() && model_type != "WordPiece") || member(*model, "merges") != nullptr ||
      (member(root, "normalizer") != nullptr && normalizer != "BertNormalizer") ||
      type_of(root, "pre_tokenizer") != "BertPreTokenizer" ||
      !read_post_processor(root, settings.options)) {
    return std::nullopt;
  }
  read_normalizer(root, settings);
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
  return pieces_by_id(*model);
}

}  // namespace berth
