#pragma once

#include <cstdint>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace berth {

// What masking has to know of each token of a vocabulary.
enum class TokenRole : uint8_t {
  kSpecial,    // [CLS], <pad> and the like, and ids without a token: never masked
  kBegins,     // the first piece of a word
  kContinues,  // a further piece of the word before it
};

// The role of every id below tokenizer.vocab_size(). The vocabulary says itself how it marks words,
// by the mark that most of its tokens have:
//   "##"  WordPiece: a token with the mark continues a word
//   "Ġ"   byte-level BPE: a token without the mark continues a word
//   "▁"   SentencePiece: likewise
// Without any mark every token is a word. Special are the tokens that the tokenizer puts around a
// text, and those that are written as the BERT family writes its special tokens.
std::vector<TokenRole> token_roles(const Tokenizer& tokenizer);

// The id of the token [MASK] or <mask>. Throws kBadData where the vocabulary has none.
int32_t mask_id(const Tokenizer& tokenizer);

}  // namespace berth
