#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trainer/model/batch.h"
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

struct MaskingOptions {
  double probability = 0.15;  // the share of a sequence's tokens that the model should predict
  bool whole_words = false;   // all pieces of a word are chosen, or none
  Unspaced unspaced = Unspaced::kByPieces;  // what a word is in scripts without spaces
  // The shares of the chosen tokens that become [MASK] and that become a random token.
  double masked_share = 0.8, random_share = 0.1;
  uint64_t seed = 42;
};

// Which masks a sequence gets: training has other ones in every epoch. Evaluation has always the
// same, whatever the seed, so that the results of several seeds can be compared.
struct MaskingRound {
  bool trains = false;
  int64_t epoch = 0;

  static MaskingRound of_epoch(int64_t epoch) { return {.trains = true, .epoch = epoch}; }
  static MaskingRound of_evaluation() { return {}; }
};

// Chooses the tokens that a masked language model should predict, and hides them (Devlin et al.
// 2018, arXiv:1810.04805, section 3.1): 80 % of the chosen tokens become [MASK], 10 % become a
// token that is drawn uniformly from the whole vocabulary, and 10 % stay. The options may change
// these shares. Everything is a function of (seed, round, number of the sequence, position in the
// sequence) by Philox. So a resumed job has the same masks as an uninterrupted one, and masks do
// not depend on the order of the sequences.
//
// If a sequence has n tokens that are not special, n * probability of them are chosen. The number
// is rounded down or up at random so that the mean is exact, and it is at least one if n > 0. With
// whole words, words are taken in random order. A word with more pieces than the remaining number
// is passed over, as in BERT's own data. So a sequence has no chosen token only if each of its
// words has more pieces than may be chosen.
//
// Immutable and thread-safe.
class Masking {
 public:
  // Reads the vocabulary and does not keep the tokenizer. Throws kBadData if it has no [MASK].
  Masking(const Tokenizer& tokenizer, const MaskingOptions& options);

  // Hides tokens of one sequence in place and appends the chosen ones to `masked`: their places,
  // counted from `first_token` for the first of `input_ids`, and their ids as they were. An id
  // beyond the vocabulary counts as special. Returns how many were chosen.
  int64_t mask(const MaskingRound& round, uint64_t sequence, std::span<int32_t> input_ids,
               int32_t first_token, PackedBatch::MaskedTokens& masked) const;

  // The largest number of chosen tokens among `tokens` tokens in `sequences` sequences.
  static int64_t most_masked(double probability, int64_t tokens, int64_t sequences);

 private:
  struct Word {
    uint32_t key, first, count;
  };
  // The words of a sequence, or its tokens, in random order.
  std::vector<Word> shuffled(std::span<const int32_t> input_ids, const std::vector<uint32_t>& keys,
                             int64_t& candidates) const;
  TokenRole role(int32_t id) const;

  MaskingOptions options_;
  std::vector<TokenRole> roles_;
  int32_t mask_id_;
};

}  // namespace berth
