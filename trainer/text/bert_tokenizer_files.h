#pragma once

#include <vector>

#include "trainer/text/bert_tokenizer.h"

namespace berth {

// vocab.txt, tokenizer_config.json, special_tokens_map.json and tokenizer.json in the layout of
// transformers (`BertTokenizer`, or `DistilBertTokenizer`) and of `tokenizers` 1.0 files.
std::vector<Tokenizer::File> bert_tokenizer_files(const WordPiece& wordpiece,
                                                  const BertTokenizerOptions& options);

}  // namespace berth
