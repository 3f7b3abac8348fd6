#include "trainer/text/normalization_steps.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

uint8_t order_of(char32_t c) {
  return CharacterClasses::shared().of(c) & kDecomposes ? combining_class(c) : 0;
}

using Sink = std::function<void(ChangedCharacter)>;

// Puts runs of combining marks into canonical order.
class CanonicalOrder {
 public:
  explicit CanonicalOrder(const Sink& sink) : sink_(sink) {}

  void add(ChangedCharacter next) {
    const uint8_t order = order_of(next.c);
    if (order != 0) {
      is_sorted_ &= marks_.empty() || last_order_ <= order;
      last_order_ = order;
      marks_.push_back(next);
      return;
    }
    finish();
    sink_(next);
  }
  void finish() {
    if (!is_sorted_) {
      std::stable_sort(marks_.begin(), marks_.end(),
                       [](const auto& a, const auto& b) { return order_of(a.c) < order_of(b.c); });
    }
    for (const ChangedCharacter& mark : marks_) sink_(mark);
    marks_.clear();
    is_sorted_ = true;
  }

 private:
  const Sink& sink_;
  std::vector<ChangedCharacter> marks_;
  uint8_t last_order_ = 0;
  bool is_sorted_ = true;
};

// Turns NFD into NFC, and NFKD into NFKC.
class Composition {
 public:
  explicit Composition(const Sink& sink) : sink_(sink) {}

  void add(ChangedCharacter next) {
    const int order = order_of(next.c);
    if (has_starter_ && next.c >= 0x80 && last_order_ < order) {
      ChangedCharacter& starter = waiting_.front();
      if (const char32_t composed = compose(starter.c, next.c); composed != 0) {
        starter.c = composed;
        starter.change += next.change - 1;
        return;
      }
    }
    if (order == 0) {
      finish();
      has_starter_ = true;
      last_order_ = -1;
    } else {
      last_order_ = order;
    }
    waiting_.push_back(next);
  }
  void finish() {
    for (const ChangedCharacter& each : waiting_) sink_(each);
    waiting_.clear();
  }

 private:
  const Sink& sink_;
  std::vector<ChangedCharacter> waiting_;  // the last starter and the marks after it
  bool has_starter_ = false;               // is false only before the first starter
  int last_order_ = -1;                    // of the last character after the starter; -1: none
};

void decompose_canonically(char32_t c, std::u32string& out) {
  if (!(CharacterClasses::shared().of(c) & kDecomposes)) {
    out.push_back(c);
    return;
  }
  const Characters parts = decompose(c);
  out.append(parts.items.begin(), parts.items.begin() + parts.count);
}

void decompose_as_kept(char32_t c, std::u32string& out) {
  if (keeps_compatible_form(c)) {
    out.push_back(c);
  } else {
    decompose_compatibly(c, out);
  }
}

void decompose_text(std::string_view text, bool compatibly, const Sink& sink) {
  CanonicalOrder ordered(sink);
  std::u32string parts;
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter next = decode_at(text, i);
    i += next.size_bytes;
    if (next.code_point < 0x80) {
      ordered.add({next.code_point, 0});
      continue;
    }
    parts.clear();
    (compatibly ? decompose_as_kept : decompose_canonically)(next.code_point, parts);
    for (size_t k = 0; k < parts.size(); ++k) ordered.add({parts[k], k > 0});
  }
  ordered.finish();
}

}  // namespace

void to_unicode_form(std::string_view text, UnicodeForm form, const Sink& sink) {
  const bool compatibly = form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
  if (form == UnicodeForm::kNfd || form == UnicodeForm::kNfkd) {
    return decompose_text(text, compatibly, sink);
  }
  Composition composition(sink);
  const Sink compose = [&](ChangedCharacter next) { composition.add(next); };
  decompose_text(text, compatibly, compose);
  composition.finish();
}

namespace {

constexpr size_t kUnitBytes = 4;

uint32_t read_u32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = kUnitBytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }
uint32_t label_of(uint32_t unit) { return unit & 0x800000FF; }
bool has_leaf(uint32_t unit) { return unit & 0x100; }

}  // namespace

Charsmap::Charsmap(std::string_view blob) {
  if (blob.empty()) return;
  const size_t trie_bytes = blob.size() < kUnitBytes ? 0 : read_u32(blob);
  if (blob.size() <= kUnitBytes || trie_bytes >= blob.size() - kUnitBytes) {
    throw Error(Code::kCorrupt, cat("precompiled_charsmap has ", blob.size(),
                                    " bytes, too few for its trie of ", trie_bytes));
  }
  const std::string_view trie = blob.substr(kUnitBytes, trie_bytes);
  units_.reserve(trie_bytes / kUnitBytes);
  for (size_t i = 0; i + kUnitBytes <= trie.size(); i += kUnitBytes) {
    units_.push_back(read_u32(trie.substr(i)));
  }
  replacements_ = blob.substr(kUnitBytes + trie_bytes);
  replacements_ += '\0';
  for (char c = ' '; c < 127; ++c) leaves_ascii_ &= longest({&c, 1}).size_bytes == 0;
}

std::string_view Charsmap::replacement_at(uint32_t place) const {
  return place < replacements_.size() ? std::string_view(replacements_.data() + place)
                                      : std::string_view();
}

// Calls visit(size, place) for each prefix of `text` in the trie, shortest first, until it returns
// false. Every index is checked, because the file may be malformed.
template <typename Visit>
void Charsmap::search(std::string_view text, Visit visit) const {
  if (units_.empty()) return;
  size_t node = offset_of(units_[0]);
  for (size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) return;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size() || !visit(i + 1, units_[node] & 0x7FFFFFFF)) return;
  }
}

Charsmap::Match Charsmap::longest(std::string_view text) const {
  Match best;
  uint32_t best_place = 0;
  search(text, [&](size_t size, uint32_t place) {
    best.size_bytes = size;
    best_place = place;
    return true;
  });
  if (best.size_bytes > 0) best.replacement = replacement_at(best_place);
  return best;
}

Charsmap::Match Charsmap::shortest(std::string_view text) const {
  Match first;
  search(text, [&](size_t size, uint32_t place) {
    first = {size, replacement_at(place)};
    return false;
  });
  return first;
}

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

namespace {

// Passes characters on one later than they come, because a removal changes the one before it.
class Replacements {
 public:
  explicit Replacements(AlignedText& text) : rewriting_(text) {}

  void add(ChangedCharacter next) {
    if (last_) rewriting_.add(*last_);
    last_ = next;
  }
  // Adds `replacement` in place of `part`. If it is longer, its last characters count as inserted;
  // if it is shorter, the last character before the removed ones accounts for them.
  void replace(std::string_view part, std::string_view replacement) {
    const size_t before = code_point_count(part);
    size_t count = 0;
    for (size_t i = 0; i < replacement.size(); ++count) {
      const DecodedCharacter next = decode_at(replacement, i);
      add({next.code_point, count >= before});
      i += next.size_bytes;
    }
    if (count < before && last_) last_->change -= static_cast<int32_t>(before - count);
  }
  void finish() {
    if (last_) rewriting_.add(*last_);
    rewriting_.finish();
  }

 private:
  Rewriting rewriting_;
  std::optional<ChangedCharacter> last_;
};

size_t cluster_end(std::string_view text, size_t begin) {
  DecodedCharacter last = decode_utf8(text.substr(begin));
  size_t end = begin + last.size_bytes;
  int32_t state = 0;
  while (end < text.size()) {
    const DecodedCharacter next = decode_utf8(text.substr(end));
    if (breaks_cluster(last.code_point, next.code_point, state)) break;
    end += next.size_bytes;
    last = next;
  }
  return end;
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 127; });
}

}  // namespace

NormalizationStep precompiled(Charsmap map) {
  constexpr size_t kSmallCluster = 6;
  return [charsmap = std::move(map)](AlignedText& text) {
    const std::string_view old = text.text();
    if (charsmap.leaves_ascii() && is_plain(old)) return;
    Replacements replacements(text);
    const auto replaced = [&](std::string_view part) {
      const Charsmap::Match match = charsmap.shortest(part);
      if (match.size_bytes > 0) replacements.replace(part, match.replacement);
      return match.size_bytes > 0;
    };
    for (size_t begin = 0; begin < old.size();) {
      const size_t end = cluster_end(old, begin);
      if (end - begin >= kSmallCluster || !replaced(old.substr(begin, end - begin))) {
        for (size_t i = begin; i < end;) {
          const DecodedCharacter next = decode_at(old, i);
          if (!replaced(old.substr(i, next.size_bytes))) replacements.add({next.code_point, 0});
          i += next.size_bytes;
        }
      }
      begin = end;
    }
    replacements.finish();
  };
}

}  // namespace berth
