#pragma once

#include <string>
#include <vector>

#include "storage/base/json.h"
#include "trainer/text/class_tokens.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/text/tokenizer_class.h"

namespace berth {

// Changes `root`, the content of tokenizer.json, into what transformers 5 makes of it. The class of
// the tokenizer may make the normalizer, the words and the template itself, by
// tokenizer_config.json. The added tokens come from all files, with the ids that `tokenizers` gives
// them. `model` is null unless `root` is made of a SentencePiece model (class_tokens.h).
// Returns the parts in which the class differs from the file: "normalizer", "pre_tokenizer",
// "post_processor". Throws kBadData if the file belongs to another class.
std::vector<std::string> read_as_class(const FileLookup& file,
                                       const TokenizerClass& tokenizer_class,
                                       const TokenizerOverrides& overrides, Json& root,
                                       const SentencePieceTokens* model = nullptr);

}  // namespace berth
