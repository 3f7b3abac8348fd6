#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/bert_tokenizer.h"

namespace berth {

// What the files of a folder say about its tokenizer; a later file overrules an earlier one.
struct TokenizerSettings {
  BertTokenizerOptions options;
  WordPieceOptions wordpiece;
  std::optional<bool> lowercase;         // absent: no file says
  std::optional<bool> add_prefix_space;  // of byte-level tokenizers
  bool keep_accents = false;             // of ALBERT's
  int32_t extra_ids = 100;               // of T5's
  std::vector<AddedToken> added_tokens;  // id -1: the vocabulary's, or the next
};

// Each throws kCorrupt for what is not JSON and kBadData for values of the wrong kind. The error
// does not name the file.
void read_special_tokens_map(std::string_view content, TokenizerSettings& settings);
void read_added_tokens(std::string_view content, TokenizerSettings& settings);  // added_tokens.json
void read_tokenizer_config(std::string_view content, TokenizerSettings& settings);

// Reads the tokenizer.json of a BERT tokenizer (BertNormalizer or none, BertPreTokenizer,
// WordPiece, [CLS] A [SEP] or no template); returns its vocabulary by id, or nullopt for any other.
std::optional<std::vector<std::string>> read_bert_tokenizer_json(std::string_view content,
                                                                 TokenizerSettings& settings);

}  // namespace berth
