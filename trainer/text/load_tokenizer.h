#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace berth {

struct TokenizerOverrides {
  std::optional<bool> do_lower_case{};  // --do-lower-case
  // do_lower_case of sentence-transformers: the text is lower-cased before all else.
  bool lowers_first = false;
};

// Returns the content of a file in the model's directory ("vocab.txt", "spiece.model"), or nullopt
// if there is no such file.
using FileLookup = std::function<std::optional<std::string>(std::string_view name)>;

// Loads the tokenizer of a directory, as AutoTokenizer of transformers 5 does. The class that
// tokenizer_config.json or config.json names, or else the model's, decides how the files are read
// (tokenizer_class.h). The first of these files that exists has the vocabulary:
//  - tokenizer.json: as the `tokenizers` library reads it, changed by tokenizer_config.json as the
//    class changes it (class_json.h).
//  - vocab.txt, unless the class has another kind of tokenizer: BERT's WordPiece, with
//    tokenizer_config.json, special_tokens_map.json and added_tokens.json if they exist. Google's
//    original releases have no such files; then the tokenizer is uncased unless the vocabulary has
//    a piece with a capital letter.
//  - vocab.json and merges.txt, as the class reads them: byte-level BPE, or HerBERT's BPE.
//  - tokenizer.model, or else sentencepiece.bpe.model, spiece.model or spm.model, by the class: the
//    class takes the pieces and the character map (class_tokens.h). Where there is neither a
//    class nor a model_type, any of these, or sentencepiece.model, is read as libsentencepiece
//    reads it, with the special tokens that its control pieces suggest.
// Warns of keys that nobody knows, and where the case of the vocabulary is not the tokenizer's.
// Throws kNotFound if none exists, and kUsage if a key has a value that berth does not support.
// Throws kBadData if the class is not known, if special tokens are missing, or if the tokenizer is
// not supported.
//
// `rules`, which may be null, gets the rules by which this program reads the files in another way
// than its versions up to 2026-11. The rules are for people.
std::unique_ptr<Tokenizer> load_tokenizer(const FileLookup& file,
                                          const TokenizerOverrides& overrides = {},
                                          std::vector<std::string>* rules = nullptr);

}  // namespace berth
