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

// A file of the model's folder by name ("vocab.txt", "spiece.model"), its bytes, or nullopt.
using FileLookup = std::function<std::optional<std::string>(std::string_view name)>;

// The tokenizer of a folder. Of these files the first that is there makes it:
// - vocab.txt, unless the folder is of a model with another tokenizer: BERT's, with
//   tokenizer_config.json, special_tokens_map.json and added_tokens.json where they exist. Case
//   from the override, else these files or tokenizer.json, else uncased unless the vocabulary holds
//   a cased piece (as Google's releases, which have no such files, need).
// - tokenizer.json: as the `tokenizers` library.
// - vocab.json and merges.txt: byte-level BPE.
// - sentencepiece.bpe.model, spiece.model, spm.model, tokenizer.model, sentencepiece.model: as
//   libsentencepiece, with the ids and special tokens of the family that tokenizer_class of
//   tokenizer_config.json or model_type of config.json names; the model's own where neither does.
// Throws kNotFound without any, kBadData for what lacks its special tokens or berth does not know.
std::unique_ptr<Tokenizer> load_tokenizer(const FileLookup& file,
                                          const TokenizerOverrides& overrides = {});

}  // namespace berth
