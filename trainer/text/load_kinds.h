#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "trainer/text/bert_tokenizer.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/text/template_tokenizer.h"
#include "trainer/text/tokenizer_class.h"

namespace berth {

// What the files of a directory say about its tokenizer. A later file overrides an earlier one, and
// where tokenizer_config.json lists the added tokens, the older files do not count.
struct TokenizerSettings {
  BertTokenizerOptions options;
  WordPieceOptions wordpiece;
  std::optional<bool> lowercase;         // absent if no file states it
  std::vector<std::string> other_names;  // of bos_token and eos_token
  bool has_list = false;                 // of additional special tokens
  std::vector<std::string> listed;       // the texts of these that are special in added_tokens.json
  std::vector<AddedToken> added_tokens;  // id -1: the vocabulary's id, or the next free one
};

// Each function throws kCorrupt if the content is not JSON, and kBadData if a value has the wrong
// type. Errors do not name the file.
void read_special_tokens_map(std::string_view content, TokenizerSettings& settings);
void read_added_tokens(std::string_view content, TokenizerSettings& settings);  // added_tokens.json
// Returns whether it has added_tokens_decoder.
bool read_tokenizer_config(std::string_view content, TokenizerSettings& settings);

// Reads tokenizer.json, whose content is `root`, if it describes a BERT tokenizer. Returns the
// vocabulary, indexed by id. A BERT tokenizer consists of BertNormalizer or no normalizer,
// BertPreTokenizer, WordPiece, and the template [CLS] A [SEP] or MPNet's. Returns nullopt for any
// other tokenizer.
std::optional<std::vector<std::string>> read_bert_tokenizer_json(const Json& root,
                                                                 TokenizerSettings& settings);

}  // namespace berth

// One function to load each kind of tokenizer. load_tokenizer() chooses among them.
namespace berth {

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

// Loads from vocab.txt. `rules` gets the rules by which earlier versions read it in another way.
// Null: reads it as they did, and warns of nothing.
std::unique_ptr<Tokenizer> load_bert_tokenizer(const FileLookup& file, const TokenizerClass& of,
                                               const TokenizerOverrides& overrides,
                                               std::vector<std::string>* rules);
// Loads from `root`, the content of tokenizer.json as the class reads it. Returns null if it does
// not describe a BERT tokenizer.
std::unique_ptr<Tokenizer> load_bert_json(const FileLookup& file, const Json& root,
                                          const TokenizerOverrides& overrides);
// Loads from vocab.json and merges.txt, as the class reads them: byte-level BPE, or HerBERT's.
std::unique_ptr<Tokenizer> load_merges(const FileLookup& file, const std::string& vocabulary,
                                       const std::string& merges, TokenizerClass of,
                                       const TokenizerOverrides& overrides,
                                       std::vector<std::string>& rules);
// Loads from the SentencePiece file `name`, whose content is `content`: as the class of
// transformers 5 reads it, or else, where no file names a class or a model_type, as
// libsentencepiece does.
std::unique_ptr<Tokenizer> load_sentencepiece(const FileLookup& file, const char* name,
                                              const std::string& content, const TokenizerClass& of,
                                              const TokenizerOverrides& overrides);

// Adds the settings in tokenizer_config.json, special_tokens_map.json and added_tokens.json.
void read_settings(const FileLookup& file, TokenizerSettings& settings);
// Returns `files` and the existing ones of these three files. If only config.json names the class,
// or the override decides the case, this goes into tokenizer_config.json.
std::vector<Tokenizer::File> with_settings(const FileLookup& file, const TokenizerClass& of,
                                           std::vector<Tokenizer::File> files,
                                           const TokenizerOverrides& overrides = {});
// What tokenizer_config.json, or else tokenizer.json, says of the sequences.
struct SequenceSettings {
  bool names_inputs = false;  // there are model_input_names
  // Whether there are token types in pairs: model_input_names lists token_type_ids. Without such a
  // list, the class TokenizersBackend, which transformers 5 writes, has none.
  bool has_types = true;
  bool cuts_left = false;  // truncation_side, or the direction of truncation in tokenizer.json

  void apply(SpecialTokensTemplate& special) const;
};
// `root` is the content of tokenizer.json, or null.
SequenceSettings sequence_settings(const FileLookup& file, const Json* root);

// Makes the tokenizer of `root`, the content of tokenizer.json as the class reads it.
std::unique_ptr<Tokenizer> load_pipeline(const Json& root, const SequenceSettings& sequences,
                                         const TokenizerOverrides& overrides,
                                         std::vector<Tokenizer::File> files);

// Gives every added token its id: the vocabulary's, or else the file's, or else the next free one
// from `vocab_size` on. Also adds the special tokens that no file lists, if the vocabulary contains
// them. `find` returns the vocabulary's id of a token, or -1. Throws kBadData where ids from
// `vocab_size` on leave some out.
std::vector<AddedToken> added_tokens_with_ids(
    const TokenizerSettings& settings, int32_t vocab_size,
    const std::function<int32_t(const std::string&)>& find);

}  // namespace berth
