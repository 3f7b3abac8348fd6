#include <algorithm>
#include <optional>

#include "trainer/text/normalization_steps.h"

namespace berth {

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
    const size_t before = count_characters(part);
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
