#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/text/added_tokens.h"
#include "trainer/text/normalization_steps.h"
#include "trainer/text/split_text.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// The special tokens of RoBERTa (Liu et al. 2019), of which <mask> takes the space before it. Their
// ids are 0 to 4.
std::vector<AddedToken> roberta_tokens();

// The members that name these tokens in tokenizer_config.json and special_tokens_map.json.
std::vector<std::pair<std::string, std::string>> roberta_token_names();

// Returns vocab.json, merges.txt, tokenizer_config.json, special_tokens_map.json and tokenizer.json
// of a byte-level BPE tokenizer with RoBERTa's special tokens, in the format of transformers
// (`RobertaTokenizer`) and of `tokenizers` (file version 1.0). `pieces` is indexed by id, and
// pieces and merges are written in GPT-2's alphabet.
std::vector<Tokenizer::File> byte_level_files(
    const std::vector<std::string>& pieces, const std::vector<std::pair<int32_t, int32_t>>& merges);

// What a unigram tokenizer does to a text before it looks for pieces: NFKC, one space for any run
// of spaces, and words that begin with the sign U+2581 in place of the space before them.
NormalizationStep unigram_normalization();
SplitStep unigram_splitting();

// Returns tokenizer.json, tokenizer_config.json and special_tokens_map.json of a unigram tokenizer
// with the special tokens of XLM-RoBERTa (Conneau et al. 2020), which has these two steps. `pieces`
// are the pieces besides the special tokens with the logarithms of their probabilities, best first.
// Their ids begin with 4, and <mask> comes last.
std::vector<Tokenizer::File> unigram_files(
    const std::vector<std::pair<std::string, double>>& pieces);

}  // namespace berth
