#include "trainer/text/unicode_forms.h"

#include <algorithm>
#include <string>

#include "trainer/text/text_kinds.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

uint8_t order_of(char32_t c) {
  return CharacterClasses::shared().of(c) & kDecomposes ? combining_class(c) : 0;
}

// Collects characters and puts runs of marks into canonical order.
class Decomposition {
 public:
  void add(char32_t c, int32_t change) {
    const uint8_t order = order_of(c);
    if (order == 0) sort();
    out_.push_back({c, change});
    if (order == 0) {
      sorted_ = out_.size();
    } else {
      orders_.push_back(order);
    }
  }
  std::vector<ChangedCharacter> take() {
    sort();
    return std::move(out_);
  }

 private:
  void sort() {
    if (orders_.size() > 1 && !std::is_sorted(orders_.begin(), orders_.end())) {
      std::stable_sort(out_.begin() + static_cast<std::ptrdiff_t>(sorted_), out_.end(),
                       [](const auto& a, const auto& b) { return order_of(a.c) < order_of(b.c); });
    }
    orders_.clear();
    sorted_ = out_.size();
  }

  std::vector<ChangedCharacter> out_;
  size_t sorted_ = 0;
  std::vector<uint8_t> orders_;  // of the characters after the sorted ones
};

template <typename Decompose>
std::vector<ChangedCharacter> decomposition(std::string_view text, Decompose decompose_into) {
  Decomposition result;
  std::u32string parts;
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter next = decode_utf8(text.substr(i));
    parts.clear();
    decompose_into(next.code_point, parts);
    for (size_t k = 0; k < parts.size(); ++k) result.add(parts[k], k > 0);
    i += next.size_bytes;
  }
  return result.take();
}

void decompose_canonically(char32_t c, std::u32string& out) {
  if (!(CharacterClasses::shared().of(c) & kDecomposes)) {
    out.push_back(c);
    return;
  }
  const Characters parts = decompose(c);
  out.append(parts.items.begin(), parts.items.begin() + parts.count);
}

}  // namespace

std::vector<ChangedCharacter> canonical_decomposition(std::string_view text) {
  return decomposition(text, decompose_canonically);
}

std::vector<ChangedCharacter> compatible_decomposition(std::string_view text) {
  return decomposition(text, [](char32_t c, std::u32string& out) {
    if (c < 0x80 || keeps_compatible_form(c)) {
      out.push_back(c);
    } else {
      decompose_compatibly(c, out);
    }
  });
}

std::vector<ChangedCharacter> composition(const std::vector<ChangedCharacter>& decomposed) {
  std::vector<ChangedCharacter> out;
  out.reserve(decomposed.size());
  size_t starter = SIZE_MAX;
  int last_order = -1;  // of the last character after the starter; -1: there is none
  for (const auto& [c, change] : decomposed) {
    const int order = order_of(c);
    if (starter != SIZE_MAX && c >= 0x80 && last_order < order) {
      if (const char32_t composed = compose(out[starter].c, c); composed != 0) {
        out[starter].c = composed;
        out[starter].change += change - 1;
        continue;
      }
    }
    if (order == 0) {
      starter = out.size();
      last_order = -1;
    } else {
      last_order = order;
    }
    out.push_back({c, change});
  }
  return out;
}

}  // namespace berth
