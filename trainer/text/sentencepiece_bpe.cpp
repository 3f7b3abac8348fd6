#include "trainer/text/sentencepiece_bpe.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "trainer/text/unicode.h"

namespace berth {

namespace {

using Type = SentencePieceModel::Type;

bool in_text(const SentencePieceModel::Piece& piece) {
  return piece.type == Type::kNormal || piece.type == Type::kUserDefined ||
         piece.type == Type::kUnused;
}

// The distinct scores in descending order. The index of a score is the rank of its merges.
std::vector<float> descending_scores(const SentencePieceModel& model) {
  std::vector<float> scores;
  for (const auto& piece : model.pieces) {
    if (in_text(piece)) scores.push_back(piece.score);
  }
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  return scores;
}

}  // namespace

SentencePieceBpe::SentencePieceBpe(const SentencePieceModel& model, const Trie& user_defined)
    : user_defined_(user_defined), size_(static_cast<int32_t>(model.pieces.size())) {
  for (int32_t id = 0; id < size_; ++id) {
    const SentencePieceModel::Piece& piece = model.pieces[static_cast<size_t>(id)];
    if (!in_text(piece)) continue;
    symbols_.insert(piece.text, id);
    if (piece.type == Type::kUnused) {
      unused_.resize(model.pieces.size());
      unused_[static_cast<size_t>(id)] = true;
    }
  }
  insert_merges(model);
}

// Adds every way to split a piece in two, because any of these pairs may become neighbors. Each
// half is a piece, or a character that is not a piece.
void SentencePieceBpe::insert_merges(const SentencePieceModel& model) {
  const std::vector<float> scores = descending_scores(model);
  int32_t next = size_;
  for (const auto& piece : model.pieces) {
    if (!in_text(piece)) continue;
    for (size_t i = 0; i < piece.text.size();) {
      const size_t size = decode_utf8(std::string_view(piece.text).substr(i)).size_bytes;
      const std::string_view character = std::string_view(piece.text).substr(i, size);
      if (symbols_.find(character) < 0) symbols_.insert(character, next++);
      i += size;
    }
  }
  for (int32_t id = 0; id < size_; ++id) {
    const SentencePieceModel::Piece& piece = model.pieces[static_cast<size_t>(id)];
    if (!in_text(piece)) continue;
    const auto rank = static_cast<uint32_t>(
        std::lower_bound(scores.begin(), scores.end(), piece.score, std::greater<>()) -
        scores.begin());
    const std::string_view text = piece.text;
    for (size_t i = decode_utf8(text).size_bytes; i < text.size();
         i += decode_utf8(text.substr(i)).size_bytes) {
      const int32_t left = symbols_.find(text.substr(0, i)), right = symbols_.find(text.substr(i));
      if (left >= 0 && right >= 0) merges_.insert(left, right, rank, id);
    }
  }
}

// Splits pieces of type unused again. Such a piece is split into the last pair, anywhere in the
// text, that could have formed it. Both halves are then treated in the same way.
class SentencePieceBpe::Recut {
 public:
  Recut(const SentencePieceBpe& bpe, std::string_view text,
        const std::vector<PairMerges::Candidate>& candidates)
      : bpe_(bpe), text_(text) {
    for (const auto& candidate : candidates) {
      if (is_unused(candidate.merged)) last_[candidate.merged] = {candidate.left, candidate.right};
    }
  }

  void add(int32_t id, Span span, std::vector<Part>& parts) const {
    const auto found = is_unused(id) ? last_.find(id) : last_.end();
    if (found == last_.end()) {
      parts.push_back({id < bpe_.size_ ? id : -1, span});
      return;
    }
    const auto [left, right] = found->second;
    const uint32_t middle = span.begin + (left.end - left.begin);
    add(id_of(left), {span.begin, middle}, parts);
    add(id_of(right), {middle, span.end}, parts);
  }

 private:
  bool is_unused(int32_t id) const {
    return id >= 0 && id < bpe_.size_ && bpe_.unused_[static_cast<size_t>(id)];
  }
  int32_t id_of(Span span) const {
    return bpe_.symbols_.find(text_.substr(span.begin, span.end - span.begin));
  }

  const SentencePieceBpe& bpe_;
  std::string_view text_;
  std::unordered_map<int32_t, std::pair<Span, Span>> last_;
};

void SentencePieceBpe::cut(std::string_view text, std::vector<Part>& parts) const {
  std::vector<Symbol> symbols;
  symbols.reserve(text.size());
  for (size_t begin = 0; begin < text.size();) {
    const size_t frozen = user_defined_.longest(text.substr(begin));
    const size_t size = frozen > 0 ? frozen : decode_utf8(text.substr(begin)).size_bytes;
    symbols.push_back({.id = symbols_.find(text.substr(begin, size)),
                       .span = span_of(begin, begin + size),
                       .frozen = frozen > 0});
    begin += size;
  }
  if (unused_.empty()) {
    merges_.apply(symbols);
    for (const Symbol& symbol : symbols) {
      parts.push_back({symbol.id < size_ ? symbol.id : -1, symbol.span});
    }
    return;
  }
  std::vector<PairMerges::Candidate> candidates;
  merges_.apply(symbols, &candidates);
  const Recut recut(*this, text, candidates);
  for (const Symbol& symbol : symbols) recut.add(symbol.id, symbol.span, parts);
}

}  // namespace berth
