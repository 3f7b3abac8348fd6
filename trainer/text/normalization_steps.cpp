#include "trainer/text/normalization_steps.h"

#include <algorithm>
#include <utility>

#include "trainer/text/text_kinds.h"
#include "trainer/text/unicode_forms.h"

namespace berth {

namespace {

using Changed = std::vector<ChangedCharacter>;

template <typename Visit>
void for_each_character(std::string_view text, Visit visit) {
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter next = decode_utf8(text.substr(i));
    visit(next.code_point);
    i += next.size_bytes;
  }
}

void lower(AlignedText& text) {
  Changed changed;
  for_each_character(text.text(), [&](char32_t c) {
    const Characters lower = lower_case(c);
    for (size_t i = 0; i < lower.count; ++i) changed.push_back({lower.items[i], i > 0});
  });
  text.transform(changed);
}

void clean(AlignedText& text) {
  const CharacterClasses& classes = CharacterClasses::shared();
  text.filter([&](char32_t c) { return !(classes.of(c) & kRemoved); });
  Changed changed;
  for_each_character(text.text(), [&](char32_t c) {
    changed.push_back({classes.of(c) & kToSpace ? U' ' : c, 0});
  });
  text.transform(changed);
}

void space_ideographs(AlignedText& text) {
  const CharacterClasses& classes = CharacterClasses::shared();
  Changed changed;
  for_each_character(text.text(), [&](char32_t c) {
    if (classes.of(c) & kCjk) {
      changed.insert(changed.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
    } else {
      changed.push_back({c, 0});
    }
  });
  text.transform(changed);
}

void strip_nonspacing_marks(AlignedText& text) {
  text.transform(canonical_decomposition(text.text()));
  const CharacterClasses& classes = CharacterClasses::shared();
  text.filter([&](char32_t c) { return !(classes.of(c) & kNonspacingMark); });
}

// [begin, end) of the old text became `content`. The origin of the content is the last removed
// byte.
void replace_part(size_t begin, size_t end, const std::string& content, size_t& copied,
                  std::vector<AlignedText::Part>& parts) {
  if (begin > copied) parts.push_back({copied, begin, {}, 0});
  if (!content.empty()) parts.push_back({0, 0, content, end - 1});
  copied = end;
}

void finish(AlignedText& text, size_t copied, std::vector<AlignedText::Part>& parts) {
  if (copied == 0) return;
  if (copied < text.text().size()) parts.push_back({copied, text.text().size(), {}, 0});
  text.rebuild(parts);
}

}  // namespace

NormalizationStep in_sequence(std::vector<NormalizationStep> steps) {
  return [steps = std::move(steps)](AlignedText& text) {
    for (const NormalizationStep& step : steps) step(text);
  };
}

NormalizationStep bert_normalization(const NormalizerOptions& options) {
  std::vector<NormalizationStep> steps;
  if (options.clean_text) steps.push_back(clean);
  if (options.handle_chinese_chars) steps.push_back(space_ideographs);
  if (options.strip_accents) steps.push_back(strip_nonspacing_marks);
  if (options.lowercase) steps.push_back(lower);
  return in_sequence(std::move(steps));
}

NormalizationStep unicode_form(UnicodeForm form) {
  return [form](AlignedText& text) {
    const bool compatible = form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
    const bool composed = form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
    if (std::all_of(text.text().begin(), text.text().end(), [](char c) { return c >= 0; })) return;
    Changed changed =
        compatible ? compatible_decomposition(text.text()) : canonical_decomposition(text.text());
    if (composed) changed = composition(changed);
    text.transform(changed);
  };
}

NormalizationStep lower_casing() { return lower; }

NormalizationStep accent_stripping() {
  return [](AlignedText& text) { text.filter([](char32_t c) { return !is_accent(c); }); };
}

NormalizationStep replacing(std::string pattern, std::string content) {
  return [pattern = std::move(pattern), content = std::move(content)](AlignedText& text) {
    const std::string_view old = text.text();
    std::vector<AlignedText::Part> parts;
    size_t copied = 0;
    for (size_t i = old.find(pattern); i != old.npos; i = old.find(pattern, copied)) {
      replace_part(i, i + pattern.size(), content, copied, parts);
    }
    finish(text, copied, parts);
  };
}

NormalizationStep replacing_runs(char c, size_t at_least, std::string content) {
  return [c, at_least, content = std::move(content)](AlignedText& text) {
    const std::string_view old = text.text();
    std::vector<AlignedText::Part> parts;
    size_t copied = 0, end = 0;
    for (size_t i = old.find(c); i != old.npos; i = old.find(c, end)) {
      end = std::min(old.find_first_not_of(c, i), old.size());
      if (end - i >= at_least) replace_part(i, end, content, copied, parts);
    }
    finish(text, copied, parts);
  };
}

NormalizationStep replacing_spaces(std::string content) {
  return [content = std::move(content)](AlignedText& text) {
    const std::string_view old = text.text();
    std::vector<AlignedText::Part> parts;
    size_t copied = 0;
    for (size_t begin = 0; begin < old.size();) {
      size_t end = begin, count = 0;
      while (end < old.size()) {
        const DecodedCharacter next = decode_utf8(old.substr(end));
        if (!is_white_space(next.code_point)) break;
        end += next.size_bytes;
        ++count;
      }
      const bool breaks_line =
          count == 1 && (old[begin] == '\n' || old[begin] == '\r' || old[begin] == '\t');
      if (count > 1 || breaks_line) replace_part(begin, end, content, copied, parts);
      begin = count > 0 ? end : begin + decode_utf8(old.substr(begin)).size_bytes;
    }
    finish(text, copied, parts);
  };
}

NormalizationStep prepending(std::string prefix) {
  return [prefix = std::move(prefix)](AlignedText& text) {
    if (text.text().empty() || prefix.empty()) return;
    text.rebuild({{0, 0, prefix, 0}, {0, text.text().size(), {}, 0}});
  };
}

NormalizationStep trimming(bool left, bool right) {
  return [left, right](AlignedText& text) {
    const std::string_view old = text.text();
    size_t begin = 0, end = old.size();
    while (left && begin < end) {
      const DecodedCharacter next = decode_utf8(old.substr(begin));
      if (!is_white_space(next.code_point)) break;
      begin += next.size_bytes;
    }
    while (right && end > begin) {
      const size_t last = previous_character(old, end);
      if (!is_white_space(decode_utf8(old.substr(last)).code_point)) break;
      end = last;
    }
    if (begin > 0 || end < old.size()) text.rebuild({{begin, end, {}, 0}});
  };
}

}  // namespace berth
