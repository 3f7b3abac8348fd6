#include "trainer/text/normalization_steps.h"

#include <algorithm>
#include <utility>

#include "trainer/text/text_kinds.h"
#include "trainer/text/unicode_forms.h"

namespace berth {

namespace {

template <typename Visit>
void for_each_character(std::string_view text, Visit visit) {
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter next = decode_at(text, i);
    visit(next.code_point);
    i += next.size_bytes;
  }
}

void lower(AlignedText& text) {
  const CharacterClasses& classes = CharacterClasses::shared();
  Rewriting rewriting(text);
  for_each_character(text.text(), [&](char32_t c) {
    if (!(classes.of(c) & kLowers)) return rewriting.add({c, 0});
    const Characters lower = lower_case(c);
    for (size_t i = 0; i < lower.count; ++i) rewriting.add({lower.items[i], i > 0});
  });
  rewriting.finish();
}

void clean(AlignedText& text) {
  const CharacterClasses& classes = CharacterClasses::shared();
  filter(text, [&](char32_t c) { return !(classes.of(c) & kRemoved); });
  Rewriting rewriting(text);
  for_each_character(text.text(), [&](char32_t c) {
    rewriting.add({classes.of(c) & kToSpace ? U' ' : c, 0});
  });
  rewriting.finish();
}

void space_ideographs(AlignedText& text) {
  const CharacterClasses& classes = CharacterClasses::shared();
  Rewriting rewriting(text);
  for_each_character(text.text(), [&](char32_t c) {
    if (!(classes.of(c) & kCjk)) return rewriting.add({c, 0});
    rewriting.add({U' ', 0});
    rewriting.add({c, 1});
    rewriting.add({U' ', 1});
  });
  rewriting.finish();
}

void to_form(AlignedText& text, UnicodeForm form) {
  if (std::all_of(text.text().begin(), text.text().end(), [](char c) { return c >= 0; })) return;
  Rewriting rewriting(text);
  to_unicode_form(text.text(), form, [&](ChangedCharacter next) { rewriting.add(next); });
  rewriting.finish();
}

void strip_nonspacing_marks(AlignedText& text) {
  to_form(text, UnicodeForm::kNfd);
  const CharacterClasses& classes = CharacterClasses::shared();
  filter(text, [&](char32_t c) { return !(classes.of(c) & kNonspacingMark); });
}

// Writes a text of which some parts are replaced by `content`. The origin of the content is the
// last byte of the part.
class Replacing {
 public:
  Replacing(AlignedText& text, const std::string& content)
      : size_(text.text().size()), content_(content), rewriting_(text) {}

  void replace(size_t begin, size_t end) {
    rewriting_.keep(kept_, begin);
    rewriting_.insert(content_, end - 1);
    kept_ = end;
  }
  void finish() {
    rewriting_.keep(kept_, size_);
    rewriting_.finish();
  }

 private:
  const size_t size_;
  const std::string& content_;
  Rewriting rewriting_;
  size_t kept_ = 0;
};

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
  return [form](AlignedText& text) { to_form(text, form); };
}

NormalizationStep lower_casing() { return lower; }

NormalizationStep accent_stripping() {
  return [](AlignedText& text) { filter(text, [](char32_t c) { return !is_accent(c); }); };
}

NormalizationStep replacing(std::string pattern, std::string content) {
  return [pattern = std::move(pattern), content = std::move(content)](AlignedText& text) {
    const std::string_view old = text.text();
    Replacing parts(text, content);
    for (size_t i = old.find(pattern); i != old.npos;) {
      parts.replace(i, i + pattern.size());
      i = old.find(pattern, i + pattern.size());
    }
    parts.finish();
  };
}

NormalizationStep replacing_runs(char c, size_t at_least, std::string content) {
  return [c, at_least, content = std::move(content)](AlignedText& text) {
    const std::string_view old = text.text();
    Replacing parts(text, content);
    size_t end = 0;
    for (size_t i = old.find(c); i != old.npos; i = old.find(c, end)) {
      end = std::min(old.find_first_not_of(c, i), old.size());
      if (end - i >= at_least) parts.replace(i, end);
    }
    parts.finish();
  };
}

NormalizationStep replacing_spaces(std::string content) {
  return [content = std::move(content)](AlignedText& text) {
    const std::string_view old = text.text();
    Replacing parts(text, content);
    for (size_t begin = 0; begin < old.size();) {
      size_t end = begin, count = 0;
      while (end < old.size()) {
        const DecodedCharacter next = decode_at(old, end);
        if (!is_white_space(next.code_point)) break;
        end += next.size_bytes;
        ++count;
      }
      const bool breaks_line =
          count == 1 && (old[begin] == '\n' || old[begin] == '\r' || old[begin] == '\t');
      if (count > 1 || breaks_line) parts.replace(begin, end);
      begin = count > 0 ? end : begin + decode_at(old, begin).size_bytes;
    }
    parts.finish();
  };
}

NormalizationStep prepending(std::string prefix) {
  return [prefix = std::move(prefix)](AlignedText& text) {
    if (text.text().empty() || prefix.empty()) return;
    Rewriting rewriting(text);
    rewriting.insert(prefix, 0);
    rewriting.keep(0, text.text().size());
    rewriting.finish();
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
    Rewriting rewriting(text);
    rewriting.keep(begin, end);
    rewriting.finish();
  };
}

}  // namespace berth
