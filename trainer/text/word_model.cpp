#include "trainer/text/word_model.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

constexpr uint32_t kMaxWordChars = 10000;

uint64_t hash_from(uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) hash = WordPiece::hash_step(hash, byte);
  return hash;
}

uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 12); }

}  // namespace

WordPiece::WordPiece(const std::vector<std::string>& pieces, const WordPieceOptions& options)
    : options_(options),
      continuation_hash_(hash_from(kHashSeed, options.continuing_subword_prefix)) {
  if (options_.max_input_chars_per_word < 1 || options_.max_input_chars_per_word > kMaxWordChars) {
    throw Error(Code::kBadData,
                cat("max_input_chars_per_word is ", options_.max_input_chars_per_word,
                    ", not 1 to ", kMaxWordChars));
  }
  size_t total = 0;
  for (const std::string& piece : pieces) total += piece.size();
  if (total > std::numeric_limits<uint32_t>::max() || pieces.size() > (1u << 28)) {
    throw Error(Code::kBadData, cat("a vocabulary of ", human_bytes(total), " is too large"));
  }
  arena_.reserve(total);
  ends_.reserve(pieces.size());
  const int bits = std::max(4, static_cast<int>(std::bit_width(2 * pieces.size())));
  shift_ = 64 - bits;
  slots_.assign(size_t{1} << bits, Slot{0, -1});
  for (const std::string& piece : pieces) {
    arena_ += piece;
    ends_.push_back(static_cast<uint32_t>(arena_.size()));
    longest_piece_bytes_ = std::max(longest_piece_bytes_, piece.size());
    if (!piece.empty()) insert(size() - 1);
  }
  unk_id_ = find(options_.unk_token);
  if (unk_id_ < 0) {
    throw Error(Code::kBadData, cat("the vocabulary has no ", quoted(options_.unk_token)));
  }
}

std::string_view WordPiece::piece(int32_t id) const {
  const size_t begin = id == 0 ? 0 : ends_[static_cast<size_t>(id) - 1];
  return {arena_.data() + begin, ends_[static_cast<size_t>(id)] - begin};
}

void WordPiece::insert(int32_t id) {
  const uint64_t hash = hash_from(kHashSeed, piece(id));
  size_t i = slot_of(hash);
  while (slots_[i].id >= 0) {
    if (slots_[i].tag == tag_of(hash) && piece(slots_[i].id) == piece(id)) break;
    i = (i + 1) & (slots_.size() - 1);
  }
  slots_[i] = {tag_of(hash), id};
}

int32_t WordPiece::find(std::string_view wanted) const {
  return look_up(hash_from(kHashSeed, wanted), {}, wanted);
}

// Returns the id of the piece `prefix` + `rest`, or -1.
int32_t WordPiece::look_up(uint64_t hash, std::string_view prefix, std::string_view rest) const {
  const uint32_t tag = tag_of(hash);
  for (size_t i = slot_of(hash); slots_[i].id >= 0; i = (i + 1) & (slots_.size() - 1)) {
    if (slots_[i].tag != tag) continue;
    const std::string_view found = piece(slots_[i].id);
    if (found.size() == prefix.size() + rest.size() && found.ends_with(rest) &&
        found.starts_with(prefix)) {
      return slots_[i].id;
    }
  }
  return -1;
}

// Finds the longest beginning of `rest` that forms a piece together with `prefix`, whose hash is
// `hash`. Pieces are valid UTF-8, so a match always ends between characters.
WordPiece::Match WordPiece::longest(uint64_t hash, std::string_view prefix,
                                    std::string_view rest) const {
  Match best{-1, 0};
  if (longest_piece_bytes_ < prefix.size()) return best;
  const size_t limit = std::min(rest.size(), longest_piece_bytes_ - prefix.size());
  for (size_t i = 0; i < limit; ++i) {
    hash = hash_step(hash, rest[i]);
    const int32_t id = look_up(hash, prefix, rest.substr(0, i + 1));
    if (id >= 0) best = {id, i + 1};
  }
  return best;
}

void WordPiece::append(std::string_view word, uint64_t hash, std::vector<int32_t>& ids) const {
  if (const int32_t whole = look_up(hash, {}, word); whole >= 0) {
    ids.push_back(whole);
    return;
  }
  const size_t before = ids.size();
  Match match = longest(kHashSeed, {}, word);
  while (match.id >= 0) {
    ids.push_back(match.id);
    word.remove_prefix(match.size_bytes);
    if (word.empty()) return;
    match = longest(continuation_hash_, options_.continuing_subword_prefix, word);
  }
  ids.resize(before);
  ids.push_back(unk_id_);
}

std::string WordPieceModel::token(int32_t id) const {
  return id >= 0 && id < wordpiece_.size() ? std::string(wordpiece_.piece(id)) : "";
}

void WordPieceModel::append(std::string_view word, size_t offset, Tokens& tokens) const {
  const auto span = [&](size_t begin, size_t end) {
    return Span{static_cast<uint32_t>(offset + begin), static_cast<uint32_t>(offset + end)};
  };
  const size_t before = tokens.ids.size();
  if (code_point_count(word) > wordpiece_.options().max_input_chars_per_word) {
    tokens.add(wordpiece_.unk_id(), span(0, word.size()));
    return;
  }
  uint64_t hash = WordPiece::kHashSeed;
  for (const char byte : word) hash = WordPiece::hash_step(hash, byte);
  wordpiece_.append(word, hash, tokens.ids);
  if (!tokens.with_spans) return;
  if (tokens.ids.size() == before + 1) {  // the whole word, or the unknown token
    tokens.spans.push_back(span(0, word.size()));
    return;
  }
  size_t begin = 0;
  const size_t prefix = wordpiece_.options().continuing_subword_prefix.size();
  for (size_t i = before; i < tokens.ids.size(); ++i) {
    const size_t size = wordpiece_.piece(tokens.ids[i]).size() - (i > before ? prefix : 0);
    tokens.spans.push_back(span(begin, begin + size));
    begin += size;
  }
}

}  // namespace berth
