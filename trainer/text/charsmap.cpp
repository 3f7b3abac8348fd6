#include "trainer/text/charsmap.h"

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

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

}  // namespace berth
