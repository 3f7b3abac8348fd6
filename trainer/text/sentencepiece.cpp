#include "trainer/text/sentencepiece.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"
#include "trainer/text/aligned_text.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

using Type = SentencePieceModel::Type;

constexpr uint64_t kMostTypes = 6;
constexpr size_t kMostPieceBytes = 4096;  // BPE considers every way to split a piece in two

SentencePieceModel::Piece parse_piece(Bytes message) {
  SentencePieceModel::Piece piece;
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1) piece.text = field.as_text();
    if (field.number == 2) piece.score = field.as_float32();
    if (field.number != 3) continue;
    const uint64_t type = field.as_varint();
    if (type < 1 || type > kMostTypes) {
      throw Error(Code::kBadData, cat("a piece has the type ", type, ", not 1 to ", kMostTypes));
    }
    piece.type = static_cast<Type>(type);
  }
  return piece;
}

void parse_trainer_spec(Bytes message, SentencePieceModel& model) {
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 24) model.treat_whitespace_as_suffix = field.as_varint() != 0;
    if (field.number == 35) model.byte_fallback = field.as_varint() != 0;
    if (field.number == 40) model.trained_unk_id = static_cast<int32_t>(field.as_varint());
    if (field.number != 3) continue;
    const uint64_t algorithm = field.as_varint();
    if (algorithm != 1 && algorithm != 2) {
      throw Error(Code::kBadData, cat("its model_type is ", algorithm,
                                      "; only unigram (1) and BPE (2) models are supported"));
    }
    model.algorithm = static_cast<SentencePieceModel::Algorithm>(algorithm);
  }
}

void parse_normalizer_spec(Bytes message, SentencePieceModel& model) {
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 2) model.precompiled_charsmap = field.as_text();
    if (field.number == 3) model.add_dummy_prefix = field.as_varint() != 0;
    if (field.number == 4) model.remove_extra_whitespaces = field.as_varint() != 0;
    if (field.number == 5) model.escape_whitespaces = field.as_varint() != 0;
  }
}

// Returns 10 for "<0x0A>", or -1 if the piece does not name a byte.
int byte_of(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
  unsigned byte = 0;
  const char* const end = piece.data() + 5;
  return std::from_chars(piece.data() + 3, end, byte, 16).ptr == end ? static_cast<int>(byte) : -1;
}

void check(SentencePieceModel& model) {
  std::unordered_set<std::string_view> texts, reserved;
  std::array<bool, 256> has_byte{};
  const auto complain = [](size_t id, const auto&... what) {
    throw Error(Code::kBadData, cat("piece ", id, " ", what...));
  };
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Piece& piece = model.pieces[id];
    const bool in_text = piece.type == Type::kNormal || piece.type == Type::kUserDefined ||
                         piece.type == Type::kUnused;
    if (piece.text.empty()) complain(id, "is empty");
    if (piece.text.size() > kMostPieceBytes)
      complain(id, "is over ", kMostPieceBytes, " bytes long");
    if (find_invalid_utf8(piece.text)) complain(id, "is not UTF-8");
    if (!std::isfinite(piece.score)) complain(id, "has a score that is not a finite number");
    if (!(in_text ? texts : reserved).insert(piece.text).second) {
      complain(id, "repeats the piece ", quoted(piece.text));
    }
    if (piece.type == Type::kUnknown) {
      if (model.unk_id >= 0) complain(id, "is a second unknown piece");
      model.unk_id = static_cast<int32_t>(id);
    }
    if (piece.type == Type::kByte) {
      const int byte = byte_of(piece.text);
      if (byte < 0) complain(id, "is ", quoted(piece.text), ", which does not name a byte");
      if (!model.byte_fallback) complain(id, "is a byte, but the model has no byte_fallback");
      has_byte[static_cast<size_t>(byte)] = true;
    }
  }
  if (model.unk_id < 0) throw Error(Code::kBadData, "the model has no unknown piece");
  if (model.byte_fallback && std::find(has_byte.begin(), has_byte.end(), false) != has_byte.end()) {
    throw Error(Code::kBadData, "the model has byte_fallback but not all 256 bytes");
  }
}

}  // namespace

int32_t SentencePieceModel::find(std::string_view piece) const {
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (pieces[id].text == piece) return static_cast<int32_t>(id);
  }
  return -1;
}

SentencePieceModel parse_sentencepiece_model(std::string_view file) {
  SentencePieceModel model;
  ProtoReader reader(as_bytes(file));
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1) model.pieces.push_back(parse_piece(field.as_bytes()));
    if (field.number == 2) parse_trainer_spec(field.as_bytes(), model);
    if (field.number == 3) parse_normalizer_spec(field.as_bytes(), model);
  }
  check(model);
  return model;
}

namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

}  // namespace

SentencePieceNormalizer::SentencePieceNormalizer(const SentencePieceModel& model,
                                                 const Trie& user_defined)
    : charsmap_(model.precompiled_charsmap),
      user_defined_(user_defined),
      add_dummy_prefix_(model.add_dummy_prefix),
      remove_extra_whitespaces_(model.remove_extra_whitespaces),
      whitespace_as_suffix_(model.treat_whitespace_as_suffix),
      space_(model.escape_whitespaces ? kSpaceSymbol : " ") {}

SentencePieceNormalizer::Step SentencePieceNormalizer::next(std::string_view text) const {
  if (const size_t size = user_defined_.longest(text); size > 0)
    return {text.substr(0, size), size};
  if (const Charsmap::Match match = charsmap_.longest(text); match.size_bytes > 0) {
    return {match.replacement, match.size_bytes};
  }
  const size_t size = decode_utf8(text).size_bytes;
  return {text.substr(0, size), size};
}

void SentencePieceNormalizer::normalize(std::string_view text, std::string& out,
                                        std::vector<uint32_t>* origins) const {
  out.clear();
  size_t consumed = 0;
  if (remove_extra_whitespaces_) {
    while (consumed < text.size()) {
      const Step step = next(text.substr(consumed));
      if (step.becomes != " ") break;
      consumed += step.size_bytes;
    }
  }
  if (consumed == text.size()) {
    if (origins != nullptr) origins->assign(1, static_cast<uint32_t>(consumed));
    return;
  }
  out.reserve(text.size() + text.size() / 2 + 8);
  if (origins != nullptr) origins->clear();
  const auto add = [&](std::string_view bytes) {
    require_normalized_size(text.size(), out.size() + bytes.size());
    out += bytes;
    if (origins != nullptr) {
      origins->insert(origins->end(), bytes.size(), static_cast<uint32_t>(consumed));
    }
  };
  if (!whitespace_as_suffix_ && add_dummy_prefix_) add(space_);
  bool after_space = remove_extra_whitespaces_;
  while (consumed < text.size()) {
    const Step step = next(text.substr(consumed));
    std::string_view becomes = step.becomes;
    while (after_space && becomes.starts_with(' ')) becomes.remove_prefix(1);
    if (!becomes.empty()) {
      after_space = remove_extra_whitespaces_ && becomes.back() == ' ';
      for (size_t space = becomes.find(' '); space != becomes.npos; space = becomes.find(' ')) {
        add(becomes.substr(0, space));
        add(space_);
        becomes.remove_prefix(space + 1);
      }
      add(becomes);
    }
    consumed += step.size_bytes;
  }
  if (remove_extra_whitespaces_) {
    while (std::string_view(out).ends_with(space_)) {
      out.resize(out.size() - space_.size());
      if (origins == nullptr) continue;
      consumed = (*origins)[out.size()];
      origins->resize(out.size());
    }
  }
  if (whitespace_as_suffix_ && add_dummy_prefix_) add(space_);
  if (origins != nullptr) origins->push_back(static_cast<uint32_t>(consumed));
}

namespace {

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

namespace {

constexpr float kUnknownPenalty = 10;

Trie user_defined_of(const SentencePieceModel& model) {
  std::vector<std::pair<std::string_view, int32_t>> texts;
  for (const auto& piece : model.pieces) {
    if (piece.type == Type::kUserDefined) texts.emplace_back(piece.text, 0);
  }
  return Trie(std::move(texts));
}

// User-defined pieces get score 0, which is higher than any other score, so that they win.
// libsentencepiece uses that score too, rather than the one in the file; before release 0.2.3 it
// used about -0.1 instead (spm/src/unigram_model.cc). The exact value matters, because the rounding
// of sums decides between paths that are equal after such a piece.
Viterbi<float> unigram_of(const SentencePieceModel& model) {
  float least = std::numeric_limits<float>::max();
  for (const auto& piece : model.pieces) {
    if (piece.type == Type::kNormal) least = std::min(least, piece.score);
  }
  std::vector<Viterbi<float>::Piece> pieces;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const auto& piece = model.pieces[id];
    if (piece.type == Type::kNormal || piece.type == Type::kUserDefined) {
      pieces.push_back(
          {piece.text, static_cast<int32_t>(id), piece.type == Type::kNormal ? piece.score : 0.0F});
    }
  }
  return {pieces, least - kUnknownPenalty};
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceModel model,
                                               SentencePieceOptions options)
    : TemplateTokenizer(std::move(options.special)),
      model_(std::move(model)),
      options_(std::move(options)),
      files_(std::move(options_.files)),
      user_defined_(user_defined_of(model_)),
      normalizer_(model_, user_defined_) {
  if (model_.algorithm == SentencePieceModel::Algorithm::kBpe) {
    bpe_.emplace(model_, user_defined_);
  } else {
    unigram_.emplace(unigram_of(model_));
  }
  byte_ids_.fill(-1);
  for (size_t id = 0; id < model_.pieces.size(); ++id) {
    if (model_.pieces[id].type != Type::kByte) continue;
    unsigned byte = 0;
    if (std::sscanf(model_.pieces[id].text.c_str(), "<0x%2x>", &byte) == 1) {
      byte_ids_[byte] = static_cast<int32_t>(id);
    }
  }
}

std::string SentencePieceTokenizer::token(int32_t id) const {
  return id >= 0 && id < vocab_size() ? model_.pieces[static_cast<size_t>(id)].text : "";
}

void SentencePieceTokenizer::cut(std::string_view normalized, const Take& take) const {
  if (unigram_) return unigram_->cut(normalized, take);
  std::vector<SentencePieceBpe::Part> found;
  bpe_->cut(normalized, found);
  for (const auto& [id, span] : found) {
    const Viterbi<float>::Part part{id, span};
    take({&part, 1});
  }
}

void SentencePieceTokenizer::append(std::string_view text, Tokens& tokens) const {
  AlignedText prepared(text, 0, tokens.with_spans);
  if (options_.prepare) options_.prepare(prepared);
  std::string normalized;
  std::vector<uint32_t> origins;
  normalizer_.normalize(prepared.text(), normalized, tokens.with_spans ? &origins : nullptr);
  // Converts a range of bytes in the normalized text to bytes of the original.
  const auto origin = [&](uint32_t begin, uint32_t end) {
    if (!tokens.with_spans) return Span{};
    const uint32_t first = origins[begin], last = origins[end];
    if (!options_.prepare) return Span{first, last};
    if (first < last) return prepared.origin(first, last);
    const uint32_t at = first > 0 ? prepared.origin(first - 1, first).end : 0;
    return Span{at, at};
  };
  bool after_unknown = false;
  const auto add = [&](int32_t piece, Span span) {
    const bool unknown = piece < 0;
    const Span from = origin(span.begin, span.end);
    if (!unknown) {
      tokens.add(piece, from);
    } else if (model_.byte_fallback) {  // the last byte token covers the text of the character
      for (uint32_t i = span.begin; i < span.end; ++i) {
        const Span of_byte = i + 1 == span.end ? from : Span{from.begin, from.begin};
        tokens.add(byte_ids_[static_cast<unsigned char>(normalized[i])], of_byte);
      }
    } else if (!after_unknown) {
      tokens.add(model_.unk_id, from);
    } else if (tokens.with_spans) {  // consecutive unknown characters are one token
      tokens.spans.back().end = from.end;
    }
    after_unknown = unknown;
  };
  cut(normalized, [&](std::span<const Viterbi<float>::Part> parts) {
    for (const auto& [piece, span] : parts) add(piece, span);
  });
}

}  // namespace berth
