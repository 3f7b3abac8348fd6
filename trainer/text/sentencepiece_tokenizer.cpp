#include "trainer/text/sentencepiece_tokenizer.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

namespace berth {

namespace {

using Type = SentencePieceModel::Type;

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
