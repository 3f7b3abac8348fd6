#include "trainer/data/masking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <tuple>

#include "storage/base/error.h"
#include "storage/base/philox.h"
#include "storage/base/text.h"
#include "trainer/text/split_text.h"
#include "trainer/text/unicode.h"

namespace berth {
namespace {

constexpr std::string_view kMasks = "[MASK] <mask>";
constexpr std::string_view kSpecials =
    "[CLS] [SEP] [PAD] [UNK] [MASK] [BOS] [EOS] <s> </s> <pad> <unk> <mask> <cls> <sep> <eop> "
    "<eod> <bos> <eos>";
constexpr std::string_view kUnknowns = "[UNK] <unk>";
constexpr std::string_view kPieceMarks[] = {"##", "Ġ", "▁"};
constexpr size_t kWordPiece = 0, kByteLevel = 1, kNoMark = std::size(kPieceMarks);

// The place in kPieceMarks of the mark that most tokens begin with.
size_t usual_mark(const std::vector<std::string>& tokens) {
  std::array<int64_t, std::size(kPieceMarks)> counts{};
  for (const std::string& token : tokens) {
    for (size_t mark = 0; mark < kNoMark; ++mark)
      counts[mark] += token.starts_with(kPieceMarks[mark]);
  }
  const auto most = std::ranges::max_element(counts);
  return *most > 0 ? static_cast<size_t>(most - counts.begin()) : kNoMark;
}

bool continues_word(std::string_view token, size_t mark) {
  if (mark == kNoMark) return false;
  const bool has_mark = token.starts_with(kPieceMarks[mark]);
  return mark == kWordPiece ? has_mark && token.size() > kPieceMarks[mark].size() : !has_mark;
}

struct Block {
  char32_t first, last;
};
// Scripts that put no spaces between words, by Unicode's blocks. Han and kana come first.
constexpr Block kEastAsian[] = {{0x2E80, 0x312F},   {0x31A0, 0x4DBF},  {0x4E00, 0x9FFF},
                                {0xF900, 0xFAFF},   {0xFE30, 0xFE4F},  {0xFF01, 0xFF9F},
                                {0x1B000, 0x1B16F}, {0x20000, 0x3FFFF}};
constexpr Block kSouthEastAsian[] = {{0x0E00, 0x0EFF}, {0x1000, 0x109F}, {0x1780, 0x17FF},
                                     {0x1950, 0x19DF}, {0x1A20, 0x1AAF}, {0xA9E0, 0xA9FF},
                                     {0xAA60, 0xAA7F}};

bool is_unspaced(char32_t c, size_t mark) {
  const auto holds = [c](const Block& block) { return block.first <= c && c <= block.last; };
  return std::ranges::any_of(kSouthEastAsian, holds) ||
         (mark != kWordPiece && std::ranges::any_of(kEastAsian, holds));
}

// Whether a character that is cut after these bytes may be of such a script. The first byte tells,
// except after E0 and E1, where Indian and other scripts lie, too; then a cut character is a word.
bool may_be_unspaced(std::string_view cut) {
  const auto byte = static_cast<unsigned char>(cut[0]);
  if (cut.size() == 1) return (byte >= 0xE0 && byte <= 0xE9) || byte == 0xEF;
  const auto next = static_cast<unsigned char>(cut[1]);
  if (byte == 0xF0) return next >= 0xA0;
  return byte >= 0xE0 && byte <= 0xEF &&
         is_unspaced(static_cast<char32_t>((byte & 0xF) << 12 | (next & 0x3F) << 6), kByteLevel);
}

// The role of a piece by the first character that it holds, if that is of a script without spaces
// or is cut. nullopt: its mark tells.
std::optional<TokenRole> role_in_unspaced(std::string_view token, size_t mark) {
  if (mark != kNoMark && token.starts_with(kPieceMarks[mark]))
    token.remove_prefix(kPieceMarks[mark].size());
  std::string bytes(token);
  if (mark == kByteLevel && !spelled_bytes(token, bytes)) bytes = token;
  if (bytes.empty()) return std::nullopt;
  if (!begins_code_point(bytes[0])) return TokenRole::kCompletes;
  const DecodedCharacter first = decode_utf8(bytes);
  const bool is_cut = first.code_point == 0xFFFD && static_cast<unsigned char>(bytes[0]) >= 0x80 &&
                      first.size_bytes == bytes.size();
  const bool stands = is_cut ? may_be_unspaced(bytes) : is_unspaced(first.code_point, mark);
  return stands ? std::optional(TokenRole::kStandsAlone) : std::nullopt;
}

}  // namespace

std::vector<TokenRole> token_roles(const Tokenizer& tokenizer, Unspaced unspaced) {
  std::vector<std::string> tokens(static_cast<size_t>(tokenizer.vocab_size()));
  for (size_t id = 0; id < tokens.size(); ++id) tokens[id] = tokenizer.token(static_cast<int>(id));
  const size_t mark = usual_mark(tokens);
  std::vector<TokenRole> roles;
  roles.reserve(tokens.size());
  for (const std::string& token : tokens) {
    const bool is_special = token.empty() || is_one_of(kSpecials, token);
    if (is_special) {
      roles.push_back(TokenRole::kSpecial);
      continue;
    }
    const TokenRole marked =
        continues_word(token, mark) ? TokenRole::kContinues : TokenRole::kBegins;
    const bool looks = unspaced == Unspaced::kByPieces && mark != kNoMark;
    roles.push_back(looks ? role_in_unspaced(token, mark).value_or(marked) : marked);
  }
  for (const int32_t id : tokenizer.encode("", std::nullopt, EncodeOptions(8)).input_ids) {
    if (id >= 0 && static_cast<size_t>(id) < roles.size()) {
      roles[static_cast<size_t>(id)] = TokenRole::kSpecial;
    }
  }
  return roles;
}

std::optional<int32_t> unknown_id(const Tokenizer& tokenizer) {
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (is_one_of(kUnknowns, tokenizer.token(id))) return id;
  }
  return std::nullopt;
}

int32_t mask_id(const Tokenizer& tokenizer) {
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (is_one_of(kMasks, tokenizer.token(id))) return id;
  }
  throw Error(Code::kBadData, "the vocabulary has neither [MASK] nor <mask>", "",
              "train masked language models with a tokenizer that has one of them");
}

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
