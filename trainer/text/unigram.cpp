#include "trainer/text/unigram.h"

#include <algorithm>
#include <array>
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

// Finds the parts of the best way from `begin` to `end`. `nodes` begin with the node at `begin`.
template <typename Score>
void Viterbi<Score>::trace(std::span<const Node> nodes, size_t begin, size_t end,
                           std::vector<Part>& parts) {
  parts.clear();
  while (end > begin) {
    const Node& node = nodes[end - begin];
    parts.push_back({node.value, {node.begin, static_cast<uint32_t>(end)}});
    end = node.begin;
  }
  std::reverse(parts.begin(), parts.end());
}

template <typename Score>
void Viterbi<Score>::cut(std::string_view text, const Take& take) const {
  constexpr size_t kOnStack = 256;
  constexpr size_t kPassedOn = 1024;  // bytes after which parts are passed on
  constexpr Node kUnreached{0, -1, UINT32_MAX};
  std::array<Node, kOnStack> few;
  std::vector<Node> many;
  std::span<Node> nodes(few.data(), std::min(text.size() + 1, kOnStack));
  std::ranges::fill(nodes, kUnreached);
  std::vector<Part> parts;
  size_t first = 0;    // the place of the first node
  size_t reached = 0;  // the farthest place that has a node
  const auto grow = [&](size_t least) {
    const size_t most = text.size() - first + 1;
    many.reserve(most);  // takes no memory before it is used
    if (many.empty()) many.assign(nodes.begin(), nodes.end());
    many.resize(std::min(2 * least, most), kUnreached);
    nodes = many;
  };
  const auto offer = [&](size_t begin, size_t end, double score, int32_t value) {
    if (end - first >= nodes.size()) grow(end - first + 1);
    const Score candidate = static_cast<Score>(score) + nodes[begin - first].score;
    Node& node = nodes[end - first];
    if (node.begin == UINT32_MAX || candidate > node.score) {
      node = {candidate, value, static_cast<uint32_t>(begin)};
    }
    reached = std::max(reached, end);
  };
  const auto pass_on = [&](size_t place) {
    trace(nodes, first, place, parts);
    take(parts);
    const Node last = nodes[place - first];
    std::ranges::fill(nodes.first(place - first + 1), kUnreached);
    nodes.front() = last;
    first = place;
  };
  for (size_t begin = 0; begin < text.size();) {
    if (begin == reached && begin - first >= kPassedOn) pass_on(begin);
    const size_t character = decode_at(text, begin).size_bytes;
    bool covered = false;
    trie_.prefixes(text.substr(begin), [&](size_t size, int32_t value) {
      offer(begin, begin + size, scores_[static_cast<size_t>(value)], value);
      covered |= size == character;
    });
    if (!covered) offer(begin, begin + character, unknown_, -1);
    begin += character;
  }
  pass_on(text.size());
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
    byte_ids_[byte] = ids_.find(formatted("<0x%02X>", byte));
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
  Span unknown;  // neighbouring characters that are no pieces
  const auto end_unknown = [&] {
    if (unknown.begin == unknown.end) return;
    append_unknown(word.substr(unknown.begin, unknown.end - unknown.begin),
                   span_of(offset + unknown.begin, offset + unknown.end), tokens);
    unknown = {};
  };
  viterbi_.cut(word, [&](std::span<const Viterbi<double>::Part> parts) {
    for (const auto& [value, span] : parts) {
      if (value < 0 || value == unk_id_) {
        if (unknown.begin == unknown.end) unknown.begin = span.begin;
        unknown.end = span.end;
        continue;
      }
      end_unknown();
      tokens.add(value, span_of(offset + span.begin, offset + span.end));
    }
  });
  end_unknown();
}

}  // namespace berth
