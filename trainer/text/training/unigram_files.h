#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trainer/text/normalization_steps.h"
#include "trainer/text/split_text.h"
#include "trainer/text/tokenizer.h"

namespace berth {

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
