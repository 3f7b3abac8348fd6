#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace berth {

// What masking has to know of each token of a vocabulary.
enum class TokenRole : uint8_t {
  kSpecial,    // [CLS], <pad> and the like, and ids without a token: never masked
  kBegins,     // the first piece of a word
  kContinues,  // a further piece of the word before it
  // A piece of a script that puts no spaces between words. It is a word, and so is what follows it.
  kStandsAlone,
  kCompletes,  // begins with the last bytes of a character, so it belongs to the piece before it
};

// Where words are looked for in scripts that put no spaces between them: Chinese, Japanese, Thai,
// Lao, Khmer and Burmese. kInSpaces is the reading of earlier versions: a line is one word.
enum class Unspaced { kByPieces, kInSpaces };

// The role of every id below tokenizer.vocab_size(). The vocabulary says itself how it marks words,
// by the mark that most of its tokens have:
//   "##"  WordPiece: a token with the mark continues a word
//   "Ġ"   byte-level BPE: a token without the mark continues a word
//   "▁"   SentencePiece: likewise
// Without any mark every token is a word. A piece of a script without spaces is a word of its own,
// except with Unspaced::kInSpaces. With the mark "##", this does not hold for Chinese and Japanese,
// whose WordPiece vocabularies mark words themselves. Special tokens are the ones that the
// tokenizer puts around a text, and tokens with the form of the BERT family's special tokens.
std::vector<TokenRole> token_roles(const Tokenizer& tokenizer,
                                   Unspaced unspaced = Unspaced::kByPieces);

// The token for text that the vocabulary cannot write: [UNK] or <unk>; nullopt where there is none.
std::optional<int32_t> unknown_id(const Tokenizer& tokenizer);

// The id of the token [MASK] or <mask>. Throws kBadData where the vocabulary has none.
int32_t mask_id(const Tokenizer& tokenizer);

}  // namespace berth
