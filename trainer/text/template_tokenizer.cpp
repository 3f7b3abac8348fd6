#include "trainer/text/template_tokenizer.h"

#include <algorithm>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

size_t count_tokens(const std::vector<TemplatePart>& parts) {
  return static_cast<size_t>(
      std::count_if(parts.begin(), parts.end(),
                    [](const TemplatePart& part) { return part.kind == TemplatePart::kToken; }));
}

// Converts spans from bytes of `text`, which is valid UTF-8, to code points. A number for each byte
// would take four times the text's memory, so only the numbers before every 64th byte are stored.
void count_code_points(std::string_view text, std::vector<Span>& spans) {
  constexpr size_t kBlock = 64;
  std::vector<uint32_t> before = {0};
  before.reserve(text.size() / kBlock + 1);
  for (size_t end = kBlock; end <= text.size(); end += kBlock) {
    before.push_back(before.back() + code_point_count(text.substr(end - kBlock, kBlock)));
  }
  const auto count = [&](uint32_t byte) {
    return before[byte / kBlock] +
           code_point_count(text.substr(byte / kBlock * kBlock, byte % kBlock));
  };
  for (Span& span : spans) span = {count(span.begin), count(span.end)};
}

// Appends `part` to `whole` and gives its memory back. The elements of a long part are not copied,
// because both vectors would be held at once.
template <typename T>
void append_to(std::vector<T>& whole, std::vector<T>&& part) {
  constexpr size_t kLong = 1 << 16;
  if (part.size() >= kLong && part.size() > part.capacity() / 2 && whole.size() < kLong) {
    part.insert(part.begin(), whole.begin(), whole.end());
    whole = std::move(part);
  } else {
    whole.insert(whole.end(), part.begin(), part.end());
    std::vector<T>().swap(part);
  }
}

// Keeps `count` tokens.
void truncate(Tokens& tokens, size_t count, bool cuts_left) {
  const auto cut = [&](auto& items) {
    if (items.size() <= count) return;
    if (cuts_left) items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(count));
    items.resize(count);
  };
  cut(tokens.ids);
  cut(tokens.spans);
}

void put(const TemplatePart& part, Tokens&& tokens, Encoding& encoding) {
  append_to(encoding.input_ids, std::move(tokens.ids));
  append_to(encoding.offsets, std::move(tokens.spans));
  encoding.token_type_ids.resize(encoding.input_ids.size(), part.type_id);
}

}  // namespace

SpecialTokensTemplate SpecialTokensTemplate::bert(int32_t cls, int32_t sep) {
  return {
      .single = {{TemplatePart::kToken, cls, 0},
                 {TemplatePart::kFirst, -1, 0},
                 {TemplatePart::kToken, sep, 0}},
      .pair = {{TemplatePart::kToken, cls, 0},
               {TemplatePart::kFirst, -1, 0},
               {TemplatePart::kToken, sep, 0},
               {TemplatePart::kSecond, -1, 1},
               {TemplatePart::kToken, sep, 1}},
  };
}

SpecialTokensTemplate SpecialTokensTemplate::roberta(int32_t cls, int32_t sep) {
  return {
      .single = {{TemplatePart::kToken, cls, 0},
                 {TemplatePart::kFirst, -1, 0},
                 {TemplatePart::kToken, sep, 0}},
      .pair = {{TemplatePart::kToken, cls, 0},
               {TemplatePart::kFirst, -1, 0},
               {TemplatePart::kToken, sep, 0},
               {TemplatePart::kToken, sep, 0},
               {TemplatePart::kSecond, -1, 0},
               {TemplatePart::kToken, sep, 0}},
  };
}

bool SpecialTokensTemplate::has_types() const {
  const auto typed = [](const TemplatePart& part) { return part.type_id != 0; };
  return std::any_of(single.begin(), single.end(), typed) ||
         std::any_of(pair.begin(), pair.end(), typed);
}

void SpecialTokensTemplate::remove_types() {
  for (std::vector<TemplatePart>* parts : {&single, &pair}) {
    for (TemplatePart& part : *parts) part.type_id = 0;
  }
}

Lengths longest_first(Lengths have, size_t budget) {
  if (have.first + have.second <= budget) return have;
  const size_t shorter = std::min(have.first, have.second);
  Lengths keep{budget / 2, budget - budget / 2};
  if (shorter <= budget / 2) keep = {shorter, budget - shorter};
  if (have.first > have.second) std::swap(keep.first, keep.second);
  return keep;
}

Tokens TemplateTokenizer::tokens_of(std::string_view text, size_t enough, bool with_spans) const {
  Tokens tokens;
  tokens.enough = enough;
  tokens.with_spans = with_spans;
  tokens.ids.reserve(std::min(enough, text.size() / 3 + 8));
  if (!find_invalid_utf8(text)) {
    append(text, tokens);
    if (with_spans) count_code_points(text, tokens.spans);
  } else {
    std::string valid;
    replace_malformed(text, valid);
    append(valid, tokens);
    if (with_spans) count_code_points(valid, tokens.spans);
  }
  return tokens;
}

bool TemplateTokenizer::takes_no_space(std::string_view word) const {
  if (!find_invalid_utf8(word)) return drops_space(word);
  std::string valid;
  replace_malformed(word, valid);
  return drops_space(valid);
}

// Tokenizes each word on its own, so that no added token spans two words.
Tokens TemplateTokenizer::tokens_of_words(std::string_view text, std::span<const size_t> ends,
                                          size_t enough, bool with_spans) const {
  Tokens all;
  all.enough = enough;
  all.with_spans = with_spans;
  size_t begin = 0;
  uint32_t code_points = 0;  // before the word and its space
  for (const size_t end : ends) {
    std::string_view word = text.substr(begin, end - begin);
    const uint32_t length = code_point_count(word);
    const bool drops = takes_no_space(word.substr(1));
    word.remove_prefix(drops ? 1 : 0);
    const Tokens tokens = tokens_of(word, enough - all.ids.size(), with_spans);
    const uint32_t shift = code_points + (drops ? 1 : 0);
    all.ids.insert(all.ids.end(), tokens.ids.begin(), tokens.ids.end());
    for (Span span : tokens.spans) {
      // The space alone, where the tokenizer may have added it, has an empty span before it.
      if (!drops && span.end == 0) span = {1, 1};
      all.spans.push_back({span.begin + shift, span.end + shift});
    }
    if (all.full()) break;
    code_points += length;
    begin = end;
  }
  return all;
}

void TemplateTokenizer::warn_at_pairs(const std::string& warning) {
  pair_warning_ = std::make_unique<PairWarning>();
  pair_warning_->text = warning;
}

Encoding TemplateTokenizer::encode(std::string_view text, std::optional<std::string_view> text_pair,
                                   const EncodeOptions& options) const {
  if (text_pair && pair_warning_) {
    std::call_once(pair_warning_->once, [&] { log_warning(pair_warning_->text); });
  }
  const auto& parts = text_pair ? special_.pair : special_.single;
  const size_t special_tokens = options.add_special_tokens ? count_tokens(parts) : 0;
  if (options.max_length < 0 || static_cast<size_t>(options.max_length) < special_tokens) {
    throw Error(Code::kUsage, cat("a length of ", options.max_length, " leaves no room for the ",
                                  special_tokens, " special tokens of an example"));
  }
  const size_t budget = static_cast<size_t>(options.max_length) - special_tokens;
  const bool needs_all = text_pair || special_.cuts_left;
  const size_t enough = needs_all ? SIZE_MAX : budget;
  Tokens first = !options.word_ends.empty() && takes_no_space("")
                     ? tokens_of_words(text, options.word_ends, enough, options.with_offsets)
                     : tokens_of(text, enough, options.with_offsets);
  Tokens second;
  if (text_pair) second = tokens_of(*text_pair, SIZE_MAX, options.with_offsets);
  const Lengths keep = longest_first({first.ids.size(), second.ids.size()}, budget);
  truncate(first, keep.first, special_.cuts_left);
  truncate(second, keep.second, special_.cuts_left);
  Encoding encoding;
  for (std::vector<int32_t>* ids : {&encoding.input_ids, &encoding.token_type_ids}) {
    ids->reserve(keep.first + keep.second + special_tokens);
  }
  for (const TemplatePart& part : parts) {
    if (part.kind != TemplatePart::kToken) {
      put(part, std::move(part.kind == TemplatePart::kFirst ? first : second), encoding);
      continue;
    }
    if (!options.add_special_tokens) continue;
    encoding.input_ids.push_back(part.id);
    encoding.token_type_ids.push_back(part.type_id);
    if (options.with_offsets) encoding.offsets.emplace_back();
  }
  return encoding;
}

}  // namespace berth
