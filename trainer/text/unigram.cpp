#include "trainer/text/unigram.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

constexpr double kUnigramUnknownPenalty = 10;

template <typename Score>
std::vector<std::pair<std::string_view, int32_t>> texts_of(
    const std::vector<typename Viterbi<Score>::Piece>& pieces) {
  std::vector<std::pair<std::string_view, int32_t>> texts;
  texts.reserve(pieces.size());
  for (const auto& piece : pieces) texts.emplace_back(piece.text, piece.value);
  return texts;
}

std::vector<Viterbi<double>::Piece> viterbi_pieces(
    const std::vector<std::pair<std::string, double>>& pieces) {
  std::vector<Viterbi<double>::Piece> result;
  result.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    result.push_back({pieces[i].first, static_cast<int32_t>(i), pieces[i].second});
  }
  return result;
}

double least_score(const std::vector<std::pair<std::string, double>>& pieces) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [piece, score] : pieces) least = std::min(least, score);
  return least;
}

}  // namespace

template <typename Score>
Viterbi<Score>::Viterbi(const std::vector<Piece>& pieces, Score unknown)
    : trie_(texts_of<Score>(pieces)), unknown_(unknown) {
  for (const Piece& piece : pieces) {
    const auto value = static_cast<size_t>(piece.value);
    if (value >= scores_.size()) scores_.resize(value + 1);
    scores_[value] = piece.score;
  }
}

template <typename Score>
void Viterbi<Score>::cut(std::string_view text, std::vector<Part>& parts) const {
  struct Node {
    Score score;
    int32_t value;
    uint32_t begin;  // UINT32_MAX if not reached
  };
  constexpr size_t kOnStack = 256;
  constexpr Node kUnreached{0, -1, UINT32_MAX};
  std::array<Node, kOnStack> few;
  std::vector<Node> many;
  if (text.size() >= kOnStack) many.resize(text.size() + 1);
  Node* const best = text.size() >= kOnStack ? many.data() : few.data();
  std::fill_n(best, text.size() + 1, kUnreached);
  const auto offer = [&](size_t begin, size_t end, double score, int32_t value) {
    const Score candidate = static_cast<Score>(score) + best[begin].score;
    if (best[end].begin == UINT32_MAX || candidate > best[end].score) {
      best[end] = {candidate, value, static_cast<uint32_t>(begin)};
    }
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t character = decode_utf8(text.substr(begin)).size_bytes;
    bool covered = false;
    trie_.prefixes(text.substr(begin), [&](size_t size, int32_t value) {
      offer(begin, begin + size, scores_[static_cast<size_t>(value)], value);
      covered |= size == character;
    });
    if (!covered) offer(begin, begin + character, unknown_, -1);
    begin += character;
  }
  const size_t first = parts.size();
  for (size_t end = text.size(); end > 0; end = best[end].begin) {
    parts.push_back({best[end].value, {best[end].begin, static_cast<uint32_t>(end)}});
  }
  std::reverse(parts.begin() + static_cast<std::ptrdiff_t>(first), parts.end());
}

template class Viterbi<float>;
template class Viterbi<double>;

Unigram::Unigram(std::vector<std::pair<std::string, double>> pieces, std::optional<int32_t> unk_id,
                 bool byte_fallback)
    : pieces_(std::move(pieces)),
      unk_id_(unk_id.value_or(-1)),
      byte_fallback_(byte_fallback),
      byte_ids_(256, -1),
      viterbi_(viterbi_pieces(pieces_), least_score(pieces_) - kUnigramUnknownPenalty) {
  if (pieces_.empty()) throw Error(Code::kBadData, "a Unigram model has no pieces");
  if (unk_id && (*unk_id < 0 || *unk_id >= vocab_size())) {
    throw Error(Code::kBadData, cat("unk_id is ", *unk_id, " in a vocabulary of ", vocab_size()));
  }
  ids_.reserve(pieces_.size(), 0);
  for (size_t i = 0; i < pieces_.size(); ++i)
    ids_.insert(pieces_[i].first, static_cast<int32_t>(i));
  for (unsigned byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    byte_ids_[byte] = ids_.find(text);
  }
}

std::string Unigram::token(int32_t id) const {
  return id >= 0 && id < vocab_size() ? pieces_[static_cast<size_t>(id)].first : "";
}

void Unigram::append_unknown(std::string_view text, Span span, Tokens& tokens) const {
  const auto id_of = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
  if (const int32_t id = ids_.find(text); id >= 0) {
    tokens.add(id, span);
  } else if (byte_fallback_ &&
             std::all_of(text.begin(), text.end(), [&](char byte) { return id_of(byte) >= 0; })) {
    for (const char byte : text) tokens.add(id_of(byte), span);
  } else if (unk_id_ >= 0) {
    tokens.add(unk_id_, span);
  }
}

void Unigram::append(std::string_view word, size_t offset, Tokens& tokens) const {
  std::vector<Viterbi<double>::Part> parts;
  viterbi_.cut(word, parts);
  for (size_t i = 0; i < parts.size();) {
    const auto is_unknown = [&](size_t k) {
      return parts[k].value < 0 || parts[k].value == unk_id_;
    };
    size_t end = i + 1;
    if (is_unknown(i)) {
      while (end < parts.size() && is_unknown(end)) ++end;
    }
    const Span part{parts[i].span.begin, parts[end - 1].span.end};
    const Span span{static_cast<uint32_t>(offset + part.begin),
                    static_cast<uint32_t>(offset + part.end)};
    if (is_unknown(i)) {
      append_unknown(word.substr(part.begin, part.end - part.begin), span, tokens);
    } else {
      tokens.add(parts[i].value, span);
    }
    i = end;
  }
}

}  // namespace berth
