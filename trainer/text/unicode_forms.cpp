#include "trainer/text/unicode_forms.h"

#include <algorithm>
#include <string>
#include <vector>

#include "trainer/text/text_kinds.h"
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

}  // namespace berth
