#include "trainer/data/masking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "storage/base/philox.h"

namespace berth {
namespace {

constexpr uint32_t kTrainingPurpose = 0x6d61736b;    // no dropout site has these numbers
constexpr uint32_t kEvaluationPurpose = 0x6d61736c;  // permutations have another one
constexpr uint32_t kShareOfSequence = 0xffffffff;    // no token has this place

// The random words of one token: its place in the random order, its fate, and the token that
// replaces it.
using Draw = std::array<uint32_t, 4>;

// Draws for the tokens of one sequence.
class Draws {
 public:
  Draws(uint64_t seed, const MaskingRound& round, uint64_t sequence)
      : key_(round.trains ? philox_key(seed, static_cast<uint64_t>(round.epoch), kTrainingPurpose)
                          : philox_key(0, 0, kEvaluationPurpose)),
        sequence_(sequence) {}

  Draw of(uint32_t place) const {
    return philox4x32({low_word(sequence_), high_word(sequence_), place, 0}, key_);
  }
  // From 0 to 1, without 1.
  double share() const { return of(kShareOfSequence)[0] * 0x1p-32; }

 private:
  const std::array<uint32_t, 2> key_;
  const uint64_t sequence_;
};

// A whole number below `size`. Its bias is below size / 2^32.
int32_t below(uint32_t random, size_t size) {
  return static_cast<int32_t>(uint64_t{random} * size >> 32);
}

}  // namespace

Masking::Masking(const Tokenizer& tokenizer, const MaskingOptions& options)
    : options_(options),
      roles_(token_roles(tokenizer, options.unspaced)),
      mask_id_(mask_id(tokenizer)) {}

TokenRole Masking::role(int32_t id) const {
  const auto at = static_cast<size_t>(id);
  return at < roles_.size() ? roles_[at] : TokenRole::kSpecial;
}

std::vector<Masking::Word> Masking::shuffled(std::span<const int32_t> input_ids,
                                             const std::vector<uint32_t>& keys,
                                             int64_t& candidates) const {
  std::vector<Word> words;
  bool is_in_word = false, is_unspaced = false;  // of the token before
  for (uint32_t place = 0; place < input_ids.size(); ++place) {
    const TokenRole found = role(input_ids[place]);
    if (found != TokenRole::kSpecial) {
      ++candidates;
      const bool joins =
          options_.whole_words && is_in_word &&
          (found == TokenRole::kCompletes || (found == TokenRole::kContinues && !is_unspaced));
      if (joins) {
        ++words.back().count;
      } else {
        words.push_back({keys[place], place, 1});
      }
    }
    is_in_word = found != TokenRole::kSpecial;
    if (found != TokenRole::kCompletes) is_unspaced = found == TokenRole::kStandsAlone;
  }
  std::ranges::sort(words, {}, [](const Word& word) { return std::tuple(word.key, word.first); });
  return words;
}

int64_t Masking::mask(const MaskingRound& round, uint64_t sequence, std::span<int32_t> input_ids,
                      int32_t first_token, PackedBatch::MaskedTokens& masked) const {
  const Draws draws(options_.seed, round, sequence);
  std::vector<Draw> drawn(input_ids.size());
  std::vector<uint32_t> keys(input_ids.size());
  for (uint32_t place = 0; place < input_ids.size(); ++place) {
    drawn[place] = draws.of(place);
    keys[place] = drawn[place][0];
  }
  int64_t candidates = 0;
  const std::vector<Word> words = shuffled(input_ids, keys, candidates);
  const double expected = static_cast<double>(candidates) * options_.probability;
  const auto wanted =
      std::max<int64_t>(1, static_cast<int64_t>(std::floor(expected + draws.share())));
  std::vector<uint32_t> chosen;
  for (const Word& word : words) {
    if (static_cast<int64_t>(chosen.size() + word.count) > wanted) continue;
    for (uint32_t i = 0; i < word.count; ++i) chosen.push_back(word.first + i);
    if (static_cast<int64_t>(chosen.size()) == wanted) break;
  }
  std::ranges::sort(chosen);
  for (const uint32_t place : chosen) {
    int32_t& id = input_ids[place];
    masked.tokens.push_back(first_token + static_cast<int32_t>(place));
    masked.ids.push_back(id);
    const double fate = drawn[place][1] * 0x1p-32;
    if (fate < options_.masked_share) {
      id = mask_id_;
    } else if (fate < options_.masked_share + options_.random_share) {
      id = below(drawn[place][2], roles_.size());
    }
  }
  return static_cast<int64_t>(chosen.size());
}

int64_t Masking::most_masked(double probability, int64_t tokens, int64_t sequences) {
  const auto share = static_cast<int64_t>(std::ceil(static_cast<double>(tokens) * probability));
  return std::min(tokens, share + sequences);
}

}  // namespace berth
