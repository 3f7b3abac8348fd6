#pragma once

#include <vector>

#include "trainer/text/bert_tokenizer.h"

namespace berth {

// Returns vocab.txt, tokenizer_config.json, special_tokens_map.json and tokenizer.json, in the
// format of transformers (`BertTokenizer` or `DistilBertTokenizer`) and of `tokenizers` (file
// version 1.0).
std::vector<Tokenizer::File> bert_tokenizer_files(const WordPiece& wordpiece,
                                                  const BertTokenizerOptions& options);

}  // namespace berth
