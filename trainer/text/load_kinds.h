#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/error.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/text/tokenizer_settings.h"

// One function to load each kind of tokenizer. load_tokenizer() chooses among them.
namespace berth {

// The kind of tokenizer, as the name of a tokenizer class or of a model tells it.
enum class TokenizerKind {
  kUnknown,
  kBert,        // WordPiece; ELECTRA, DistilBERT and others as well
  kMpnet,       // WordPiece, <s> A </s></s> B </s>
  kRoberta,     // byte-level BPE, <s> A </s></s> B </s>
  kDeberta,     // byte-level BPE, [CLS] A [SEP] B [SEP]
  kXlmRoberta,  // SentencePiece, shifted ids, <s> A </s></s> B </s>
  kCamembert,   // the same with a different shift
  kAlbert,      // SentencePiece, [CLS] A [SEP] B [SEP]
  kDebertaV2,   // the same; the text may be lower-cased
  kT5,          // SentencePiece, A </s> B </s>
};
TokenizerKind tokenizer_kind(const FileLookup& file);
// Whether the tokenizer class or the model type is DistilBERT's.
bool is_distilbert(const FileLookup& file);

// If `content` is present, calls `read` with it and returns true. Errors name the file.
template <typename Read>
bool read_if_present(const std::optional<std::string>& content, const char* name, Read read) {
  if (!content) return false;
  try {
    read(*content);
  } catch (const Error& error) {
    throw error.at(name);
  }
  return true;
}

// Loads from vocab.txt or tokenizer.json. Returns null if tokenizer.json is not that of a BERT
// tokenizer.
std::unique_ptr<Tokenizer> load_bert_tokenizer(const FileLookup& file,
                                               const TokenizerOverrides& overrides);
// Loads from tokenizer.json, whose content is `content`.
std::unique_ptr<Tokenizer> load_pipeline(const FileLookup& file, const std::string& content);
// Loads from vocab.json and merges.txt.
std::unique_ptr<Tokenizer> load_byte_level(const FileLookup& file, std::string vocabulary,
                                           std::string merges, TokenizerKind kind);
// Loads from the SentencePiece file `name`, whose content is `content`.
std::unique_ptr<Tokenizer> load_sentencepiece(const FileLookup& file, const char* name,
                                              std::string content, TokenizerKind kind);

// Adds the settings in tokenizer_config.json, special_tokens_map.json and added_tokens.json.
void read_settings(const FileLookup& file, TokenizerSettings& settings);
// Returns `files` and those of these three files that exist.
std::vector<Tokenizer::File> with_settings(const FileLookup& file,
                                           std::vector<Tokenizer::File> files);

// Gives every added token its id: the vocabulary's, or else the file's, or else the next free one
// from `vocab_size` on. Also adds the special tokens that no file lists, if the vocabulary contains
// them. `find` returns the vocabulary's id of a token, or -1.
std::vector<AddedToken> added_tokens_with_ids(
    const TokenizerSettings& settings, int32_t vocab_size,
    const std::function<int32_t(const std::string&)>& find);

// Returns the id of the token `name`. Throws kBadData if it is not among `tokens`.
int32_t id_of_token(const std::string& name, const std::vector<AddedToken>& tokens);

}  // namespace berth
