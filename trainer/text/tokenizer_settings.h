#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"
#include "trainer/text/bert_tokenizer.h"

namespace berth {

// What the files of a directory say about its tokenizer. A later file overrides an earlier one.
struct TokenizerSettings {
  BertTokenizerOptions options;
  WordPieceOptions wordpiece;
  std::optional<bool> lowercase;         // absent if no file states it
  std::vector<std::string> other_names;  // of bos_token and eos_token
  std::vector<AddedToken> added_tokens;  // id -1: the vocabulary's id, or the next free one
};

// Each function throws kCorrupt if the content is not JSON, and kBadData if a value has the wrong
// type. Errors do not name the file.
void read_special_tokens_map(std::string_view content, TokenizerSettings& settings);
void read_added_tokens(std::string_view content, TokenizerSettings& settings);  // added_tokens.json
void read_tokenizer_config(std::string_view content, TokenizerSettings& settings);

// Reads tokenizer.json, whose content is `root`, if it describes a BERT tokenizer. Returns the
// vocabulary, indexed by id. A BERT tokenizer consists of BertNormalizer or no normalizer,
// BertPreTokenizer, WordPiece, and the template [CLS] A [SEP] or MPNet's. Returns nullopt for any
// other tokenizer.
std::optional<std::vector<std::string>> read_bert_tokenizer_json(const Json& root,
                                                                 TokenizerSettings& settings);

}  // namespace berth
