#include <algorithm>
#include <memory>

#include "trainer/text/normalization_steps.h"

namespace berth {

namespace {

using Changed = std::vector<ChangedCharacter>;

// Appends `replacement` in place of `part`. If it is longer, its last characters count as inserted;
// if it is shorter, its last character accounts for the removed ones.
void replace(std::string_view part, std::string_view replacement, Changed& changed) {
  size_t count = 0;
  for (size_t i = 0; i < replacement.size(); ++count) {
    const DecodedCharacter next = decode_utf8(replacement.substr(i));
    changed.push_back({next.code_point, 0});
    i += next.size_bytes;
  }
  const size_t before = count_characters(part);
  for (size_t i = before; i < count; ++i) changed[changed.size() - 1 - (i - before)].change = 1;
  if (count < before && !changed.empty()) {
    changed.back().change -= static_cast<int32_t>(before - count);
  }
}

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
    Changed changed;
    changed.reserve(old.size());
    bool modified = false;
    const auto replaced = [&](std::string_view part) {
      const Charsmap::Match match = charsmap.shortest(part);
      if (match.size_bytes == 0) return false;
      text.require_room(changed.size() + match.replacement.size());
      replace(part, match.replacement, changed);
      return modified = true;
    };
    for (size_t begin = 0; begin < old.size();) {
      const size_t end = cluster_end(old, begin);
      if (end - begin >= kSmallCluster || !replaced(old.substr(begin, end - begin))) {
        for (size_t i = begin; i < end;) {
          const DecodedCharacter next = decode_utf8(old.substr(i));
          if (!replaced(old.substr(i, next.size_bytes))) changed.push_back({next.code_point, 0});
          i += next.size_bytes;
        }
      }
      begin = end;
    }
    if (modified) text.transform(changed);
  };
}

}  // namespace berth
