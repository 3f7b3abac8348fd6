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
  std::vector<AddedToken> added_tokens;  // id -1: the vocabulary's, or the next
};

// Each throws kCorrupt for what is not JSON and kBadData for values of the wrong kind. The error
// does not name the file.
void read_special_tokens_map(std::string_view content, TokenizerSettings& settings);
void read_added_tokens(std::string_view content, TokenizerSettings& settings);  // added_tokens.json
void read_tokenizer_config(std::string_view content, TokenizerSettings& settings);

// Reads tokenizer.json; returns its vocabulary by id. Throws kBadData for a tokenizer that is not
// BertNormalizer, BertPreTokenizer and WordPiece.
std::vector<std::string> read_tokenizer_json(std::string_view content, TokenizerSettings& settings);

}  // namespace berth
