#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trainer/text/tokenizer.h"

namespace berth {

struct TokenizerOverrides {
  std::optional<bool> do_lower_case;  // --do-lower-case
};

// Returns the content of a file in the model's directory ("vocab.txt", "spiece.model"), or nullopt
// if there is no such file.
using FileLookup = std::function<std::optional<std::string>(std::string_view name)>;

// Loads the tokenizer of a directory. The first of these files that exists determines its kind:
//  - vocab.txt, unless the directory belongs to a model with another kind of tokenizer: BERT's
//    WordPiece, with tokenizer_config.json, special_tokens_map.json and added_tokens.json if they
//    exist. Whether text is lower-cased is decided by the override, or else by these files or
//    tokenizer.json. Google's original releases have no such files; then the tokenizer is uncased
//    unless the vocabulary has a piece with a capital letter.
//  - tokenizer.json: as the `tokenizers` library reads it.
//  - vocab.json and merges.txt: byte-level BPE.
//  - sentencepiece.bpe.model, spiece.model, spm.model, tokenizer.model, sentencepiece.model: as
//    libsentencepiece. The ids and special tokens are those of the model family, which is named by
//    tokenizer_class in tokenizer_config.json or model_type in config.json. If neither names it,
//    the model's own are used.
// Throws kNotFound if none exists, and kBadData if special tokens are missing or the tokenizer is
// not supported.
std::unique_ptr<Tokenizer> load_tokenizer(const FileLookup& file,
                                          const TokenizerOverrides& overrides = {});

}  // namespace berth
