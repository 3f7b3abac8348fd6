#include "trainer/text/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

#include "trainer/text/text_kinds.h"

namespace berth {

namespace {

// Those with `normalized` as asked; their patterns are normalized if they are.
AddedTokenFinder finder(const std::vector<AddedToken>& tokens, bool normalized,
                        const NormalizationStep& normalize) {
  std::vector<AddedToken> chosen;
  std::vector<std::string> patterns;
  for (const AddedToken& token : tokens) {
    if (token.normalized != normalized) continue;
    AlignedText pattern(token.content, 0, false);
    if (normalized && normalize) normalize(pattern);
    chosen.push_back(token);
    patterns.emplace_back(pattern.text());
  }
  return AddedTokenFinder(std::move(chosen), patterns);
}

size_t leading_space_bytes(std::string_view text) {
  size_t size = 0;
  while (size < text.size()) {
    const DecodedCharacter next = decode_utf8(text.substr(size));
    if (!is_white_space(next.code_point)) break;
    size += next.size_bytes;
  }
  return size;
}

size_t trailing_space_bytes(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t last = previous_character(text, end);
    if (!is_white_space(decode_utf8(text.substr(last)).code_point)) break;
    end = last;
  }
  return text.size() - end;
}

}  // namespace

Pipeline::Pipeline(PipelineOptions options, const WordModel& model)
    : options_(std::move(options)),
      raw_tokens_(finder(options_.added_tokens, false, options_.normalize)),
      normalized_tokens_(finder(options_.added_tokens, true, options_.normalize)),
      model_(model) {}

void Pipeline::append(std::string_view text, Tokens& tokens) const {
  raw_tokens_.split(text, [&](AddedTokenFinder::Piece piece) {
    const auto begin = static_cast<size_t>(piece.text.data() - text.data());
    if (piece.id >= 0) {
      const Span origin{static_cast<uint32_t>(begin),
                        static_cast<uint32_t>(begin + piece.text.size())};
      add_token(piece.id, piece.text, origin, tokens);
    } else {
      append_section(piece.text, begin, tokens);
    }
    return !tokens.full();
  });
}

void Pipeline::add_token(int32_t id, std::string_view surface, Span origin, Tokens& tokens) const {
  if (options_.trim_spans && tokens.with_spans) {
    const bool is_first = tokens.ids.empty() || origin.begin == 0;
    origin = trimmed(origin, leading_space_bytes(surface), trailing_space_bytes(surface), is_first);
  }
  tokens.add(id, origin);
}

void Pipeline::append_section(std::string_view text, size_t shift, Tokens& tokens) const {
  AlignedText normalized(text, shift, tokens.with_spans || options_.needs_alignment);
  if (options_.normalize) options_.normalize(normalized);
  if (normalized_tokens_.empty()) {
    append_words(SplitText(std::move(normalized)), tokens);
    return;
  }
  const std::string_view whole = normalized.text();
  normalized_tokens_.split(whole, [&](AddedTokenFinder::Piece piece) {
    const auto begin = static_cast<size_t>(piece.text.data() - whole.data());
    const size_t end = begin + piece.text.size();
    if (piece.id >= 0) {
      add_token(piece.id, piece.text, normalized.origin(begin, end), tokens);
    } else {
      AlignedText part = normalized;
      part.rebuild({{begin, end, {}, 0}});
      append_words(SplitText(std::move(part)), tokens);
    }
    return !tokens.full();
  });
}

// Spaces that the model's tokens begin and end with, which their spans do not: `is_first` tells
// that one space may be none of the text's (pre_tokenizers/byte_level.rs, process_offsets).
Span Pipeline::trimmed(Span span, size_t leading, size_t trailing, bool is_first) const {
  if (is_first && options_.add_prefix_space && leading == 1) leading = 0;
  span.begin = std::min(span.begin + static_cast<uint32_t>(leading), span.end);
  if (span.end >= trailing) {
    span.end = std::max(span.end - static_cast<uint32_t>(trailing), span.begin);
  }
  return span;
}

void Pipeline::append_words(SplitText text, Tokens& tokens) const {
  if (options_.split) options_.split(text);
  for (const Span word : text.words) {
    const size_t first = tokens.spans.size();
    model_.append(text.word(word), word.begin, tokens);
    for (size_t i = first; i < tokens.spans.size(); ++i) {
      Span& span = tokens.spans[i];
      const std::string_view surface = text.word(span);
      span = text.text.origin(span.begin, span.end);
      if (!options_.trim_spans) continue;
      const size_t leading = std::min(surface.find_first_not_of(' '), surface.size());
      const size_t trailing = surface.size() - 1 - surface.find_last_not_of(' ');  // npos: all
      span = trimmed(span, leading, trailing, i == 0 || span.begin == 0);
    }
    if (tokens.full()) return;
  }
}

}  // namespace berth
