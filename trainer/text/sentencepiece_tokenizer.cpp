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

// What the tokens look like in the text. Those that match normalized text are
// left to prepared_contents().
std::vector<std::string> contents(const SentencePieceOptions& options) {
  std::vector<std::string> texts;
  for (const AddedToken& token : options.added_tokens) {
    texts.push_back(options.prepare && token.normalized ? "" : token.content);
  }
  return texts;
}

// What the tokens that match normalized text look like in a prepared text, and "" for the others.
std::vector<std::string> prepared_contents(const SentencePieceOptions& options) {
  std::vector<std::string> texts;
  for (const AddedToken& token : options.added_tokens) {
    texts.emplace_back();
    if (!options.prepare || !token.normalized) continue;
    AlignedText text(token.content, 0, /*with_spans=*/false);
    options.prepare(text);
    texts.back() = text.text();
  }
  return texts;
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceModel model,
                                               SentencePieceOptions options)
    : TemplateTokenizer(std::move(options.special)),
      model_(std::move(model)),
      options_(std::move(options)),
      files_(std::move(options_.files)),
      user_defined_(user_defined_of(model_)),
      normalizer_(model_, user_defined_),
      added_tokens_(options_.added_tokens, contents(options_)),
      prepared_tokens_(options_.added_tokens, prepared_contents(options_)),
      vocab_size_(static_cast<int32_t>(model_.pieces.size()) + options_.shift) {
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
  if (options_.unk_id < 0) options_.unk_id = model_.unk_id + options_.shift;
  for (const AddedToken& token : options_.added_tokens) {
    vocab_size_ = std::max(vocab_size_, token.id + 1);
  }
}

std::string SentencePieceTokenizer::token(int32_t id) const {
  for (const AddedToken& token : options_.added_tokens) {
    if (token.id == id) return token.content;
  }
  const int64_t piece = int64_t{id} - options_.shift;
  const bool known = piece >= 0 && piece < static_cast<int64_t>(model_.pieces.size());
  return known ? model_.pieces[static_cast<size_t>(piece)].text : "";
}

void SentencePieceTokenizer::append(std::string_view text, Tokens& tokens) const {
  added_tokens_.split(text, [&](AddedTokenFinder::Piece piece) {
    const auto begin = static_cast<size_t>(piece.text.data() - text.data());
    if (piece.id >= 0) {
      tokens.add(piece.id,
                 {static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + piece.text.size())});
    } else {
      append_section(piece.text, begin, tokens);
    }
    return !tokens.full();
  });
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

void SentencePieceTokenizer::append_section(std::string_view text, size_t shift,
                                            Tokens& tokens) const {
  AlignedText prepared(text, shift, tokens.with_spans);
  if (!options_.prepare) return append_prepared(prepared, prepared.text(), shift, tokens);
  options_.prepare(prepared);
  const std::string_view whole = prepared.text();
  prepared_tokens_.split(whole, [&](AddedTokenFinder::Piece piece) {
    if (piece.id < 0) {
      append_prepared(prepared, piece.text, shift, tokens);
    } else {
      const auto begin = static_cast<uint32_t>(piece.text.data() - whole.data());
      const auto end = static_cast<uint32_t>(begin + piece.text.size());
      tokens.add(piece.id, tokens.with_spans ? prepared.origin(begin, end) : Span{});
    }
    return !tokens.full();
  });
}

void SentencePieceTokenizer::append_prepared(const AlignedText& prepared, std::string_view text,
                                             size_t shift, Tokens& tokens) const {
  const auto offset = static_cast<uint32_t>(text.data() - prepared.text().data());
  std::string normalized;
  std::vector<uint32_t> origins;
  normalizer_.normalize(text, normalized, tokens.with_spans ? &origins : nullptr);
  // Converts a range of bytes in the normalized text to bytes of the original.
  const auto origin = [&](uint32_t begin, uint32_t end) {
    if (!tokens.with_spans) return Span{};
    const uint32_t first = offset + origins[begin], last = offset + origins[end];
    if (options_.prepare && first < last) return prepared.origin(first, last);
    return Span{static_cast<uint32_t>(shift + first), static_cast<uint32_t>(shift + last)};
  };
  bool after_unknown = false;
  const auto add = [&](int32_t piece, Span span) {
    const bool unknown = piece < 0;
    const Span from = origin(span.begin, span.end);
    if (!unknown) {
      tokens.add(piece + options_.shift, from);
    } else if (model_.byte_fallback) {  // the last byte token covers the text of the character
      for (uint32_t i = span.begin; i < span.end; ++i) {
        const Span of_byte = i + 1 == span.end ? from : Span{from.begin, from.begin};
        tokens.add(byte_ids_[static_cast<unsigned char>(normalized[i])] + options_.shift, of_byte);
      }
    } else if (!after_unknown) {
      tokens.add(options_.unk_id, from);
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
