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

// A file of the model's folder by name ("vocab.txt", "tokenizer_config.json"), or nullopt.
using FileLookup = std::function<std::optional<std::string>(std::string_view name)>;

// The BERT tokenizer of a folder: vocab.txt with tokenizer_config.json, special_tokens_map.json and
// added_tokens.json where they exist; tokenizer.json where there is no vocab.txt or no file tells
// the case. Case from the override, else these files, else uncased unless the vocabulary holds a
// cased piece (as Google's releases, which have no such files, need). Throws kNotFound without a
// vocabulary, kBadData without [UNK], [CLS] or [SEP] in it or for a tokenizer of another kind.
std::unique_ptr<Tokenizer> load_tokenizer(const FileLookup& file,
                                          const TokenizerOverrides& overrides = {});

}  // namespace berth
