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

// How each kind of tokenizer is loaded; load_tokenizer() chooses among them.
namespace berth {

// What the name of a tokenizer's class or of a model says of its tokenizer.
enum class TokenizerKind {
  kUnknown,
  kBert,        // and ELECTRA, DistilBERT, ...: WordPiece
  kRoberta,     // byte-level BPE, <s> A </s></s> B </s>
  kDeberta,     // byte-level BPE, [CLS] A [SEP] B [SEP]
  kXlmRoberta,  // SentencePiece, shifted ids, <s> A </s></s> B </s>
  kCamembert,   // the same with another shift
  kAlbert,      // SentencePiece, [CLS] A [SEP] B [SEP]
  kDebertaV2,   // the same, text as it is or lower-cased
  kT5,          // SentencePiece, A </s> B </s>
};
TokenizerKind tokenizer_kind(const FileLookup& file);
// Whether the tokenizer or the model calls itself DistilBERT's.
bool is_distilbert(const FileLookup& file);

// Runs `read` on the file if there is one, naming it in errors.
template <typename Read>
bool with(const std::optional<std::string>& content, const char* name, Read read) {
  if (!content) return false;
  try {
    read(*content);
  } catch (const Error& error) {
    throw error.at(name);
  }
  return true;
}

// From vocab.txt, or tokenizer.json; null where tokenizer.json is not that of a BERT tokenizer.
std::unique_ptr<Tokenizer> load_bert_tokenizer(const FileLookup& file,
                                               const TokenizerOverrides& overrides);
// From `content` of tokenizer.json.
std::unique_ptr<Tokenizer> load_pipeline(const FileLookup& file, const std::string& content);
// From vocab.json and merges.txt.
std::unique_ptr<Tokenizer> load_byte_level(const FileLookup& file, std::string vocabulary,
                                           std::string merges, TokenizerKind kind);
// From the .model file `name`.
std::unique_ptr<Tokenizer> load_sentencepiece(const FileLookup& file, const char* name,
                                              std::string content, TokenizerKind kind);

// Adds what tokenizer_config.json, special_tokens_map.json and added_tokens.json say.
void read_settings(const FileLookup& file, TokenizerSettings& settings);
// Those three, where they are, and `files`.
std::vector<Tokenizer::File> with_settings(const FileLookup& file,
                                           std::vector<Tokenizer::File> files);

// Gives every added token its id: the vocabulary's, else the file's, else the next free one from
// `vocab_size`; and adds the special tokens that no file lists, where the vocabulary has them.
// `find` tells the vocabulary's id of a token, or -1.
std::vector<AddedToken> added_tokens_with_ids(
    const TokenizerSettings& settings, int32_t vocab_size,
    const std::function<int32_t(const std::string&)>& find);

// The id of the token `name`; throws kBadData where none of `tokens` is it.
int32_t id_of_token(const std::string& name, const std::vector<AddedToken>& tokens);

}  // namespace berth
