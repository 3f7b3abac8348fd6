#include "trainer/text/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

size_t count_leading_spaces(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) {
    const DecodedCharacter next = decode_utf8(text);
    if (!is_white_space(next.code_point)) break;
    text.remove_prefix(next.size_bytes);
  }
  return count;
}

size_t count_trailing_spaces(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) {
    const size_t last = previous_character(text, text.size());
    if (!is_white_space(decode_utf8(text.substr(last)).code_point)) break;
    text = text.substr(0, last);
  }
  return count;
}

}  // namespace

Pipeline::Pipeline(PipelineOptions options, const WordModel& model)
    : options_(std::move(options)),
      raw_tokens_(options_.added_tokens),
      normalized_tokens_(options_.added_tokens,
                         [this](const std::string& content) {
                           AlignedText pattern(content, 0, false);
                           if (options_.normalize) options_.normalize(pattern);
                           return std::string(pattern.text());
                         }),
      model_(model) {}

void Pipeline::append(std::string_view text, Tokens& tokens) const {
  raw_tokens_.split(text, [&](AddedTokenFinder::Piece piece) {
    const auto begin = static_cast<size_t>(piece.text.data() - text.data());
    if (piece.id >= 0) {
      const Span origin{static_cast<uint32_t>(begin),
                        static_cast<uint32_t>(begin + piece.text.size())};
      add_token(text, piece.id, piece.text, origin, tokens);
    } else {
      append_section(text, piece.text, tokens);
    }
    return !tokens.full();
  });
}

bool Pipeline::drops_space(std::string_view word) const {
  if (!options_.keeps_spaces) return false;
  if (word.empty() || word.front() == ' ') return true;
  bool is_token = false;
  std::string_view first;
  const auto look = [&](AddedTokenFinder::Piece piece) {
    is_token = piece.id >= 0;
    first = piece.text;
    return false;
  };
  raw_tokens_.split(word, look);
  if (is_token || normalized_tokens_.empty()) return is_token;
  AlignedText normalized(first, 0, /*with_spans=*/false);
  if (options_.normalize) options_.normalize(normalized);
  normalized_tokens_.split(normalized.text(), look);
  return is_token;
}

void Pipeline::add_token(std::string_view original, int32_t id, std::string_view surface,
                         Span origin, Tokens& tokens) const {
  if (options_.trim_spans && tokens.with_spans) {
    const bool is_first = tokens.ids.empty() || origin.begin == 0;
    origin = trimmed(original, origin, count_leading_spaces(surface),
                     count_trailing_spaces(surface), is_first);
  }
  tokens.add(id, origin);
}

void Pipeline::append_section(std::string_view original, std::string_view section,
                              Tokens& tokens) const {
  constexpr size_t kLongPart = size_t{1} << 16;
  const bool cuts = options_.splits_at_spaces && normalized_tokens_.empty();
  while (cuts && section.size() > kLongPart && !tokens.full()) {
    const size_t end = std::min(section.find(' ', kLongPart), section.size());
    append_part(original, section.substr(0, end), tokens);
    section.remove_prefix(end);
  }
  if (!section.empty() && !tokens.full()) append_part(original, section, tokens);
}

void Pipeline::append_part(std::string_view original, std::string_view part, Tokens& tokens) const {
  const auto shift = static_cast<size_t>(part.data() - original.data());
  AlignedText normalized(part, shift, tokens.with_spans || options_.needs_alignment);
  if (options_.normalize) options_.normalize(normalized);
  if (normalized_tokens_.empty()) {
    append_words(original, SplitText(std::move(normalized)), tokens);
    return;
  }
  const std::string_view whole = normalized.text();
  normalized_tokens_.split(whole, [&](AddedTokenFinder::Piece piece) {
    const auto begin = static_cast<size_t>(piece.text.data() - whole.data());
    const size_t end = begin + piece.text.size();
    if (piece.id >= 0) {
      add_token(original, piece.id, piece.text, normalized.origin(begin, end), tokens);
    } else {
      append_words(original, SplitText(AlignedText(normalized, begin, end)), tokens);
    }
    return !tokens.full();
  });
}

// Removes the spaces at both ends of a token from its span. If `is_first`, one leading space may be
// the prefix that was added and is not in the text (pre_tokenizers/byte_level.rs, process_offsets).
Span Pipeline::trimmed(std::string_view original, Span span, size_t leading, size_t trailing,
                       bool is_first) const {
  if (is_first && options_.add_prefix_space && leading == 1) leading = 0;
  for (; leading > 0 && span.begin < span.end; --leading) {
    do ++span.begin;
    while (span.begin < span.end && !begins_code_point(original[span.begin]));
  }
  for (; trailing > 0 && span.end > span.begin; --trailing) {
    do --span.end;
    while (span.end > span.begin && !begins_code_point(original[span.end]));
  }
  return span;
}

void Pipeline::append_words(std::string_view original, SplitText text, Tokens& tokens) const {
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
      const size_t trailing =
          surface.size() - 1 - surface.find_last_not_of(' ');  // npos: the whole surface
      span = trimmed(original, span, leading, trailing, i == 0 || span.begin == 0);
    }
    if (tokens.full()) return;
  }
}

PipelineTokenizer::PipelineTokenizer(PipelineParts parts)
    : TemplateTokenizer(std::move(parts.special)),
      model_(std::move(parts.model)),
      added_tokens_(parts.options.added_tokens),
      pipeline_(std::move(parts.options), *model_),
      files_(std::move(parts.files)),
      vocab_size_(model_->vocab_size()) {
  for (const AddedToken& token : added_tokens_) vocab_size_ = std::max(vocab_size_, token.id + 1);
}

std::string PipelineTokenizer::token(int32_t id) const {
  for (const AddedToken& token : added_tokens_) {
    if (token.id == id) return token.content;
  }
  return model_->token(id);
}

void PipelineTokenizer::append(std::string_view text, Tokens& tokens) const {
  try {
    pipeline_.append(text, tokens);
  } catch (const Error& error) {  // of a normalizer that makes too much of the text
    throw files_.empty() ? error : error.at(files_.front().name);
  }
}

}  // namespace berth
