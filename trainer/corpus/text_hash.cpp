#include "trainer/corpus/text_hash.h"

#include <bit>
#include <cstring>

namespace berth {
namespace {

constexpr uint64_t kLow = 0x9E3779B97F4A7C15, kHigh = 0xC2B2AE3D27D4EB4F;

uint64_t load(const char* at, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

}  // namespace

// Two lanes of multiplications, each a permutation of the lane's state for a given word.
TextHash hash_text(std::string_view text) {
  uint64_t low = kLow ^ text.size(), high = kHigh + text.size();
  const auto add = [&](uint64_t word) {
    low = std::rotl(low ^ (word * kHigh), 29) * 5 + kLow;
    high = (std::rotl(high, 27) + word) * kLow;
  };
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) add(load(text.data() + at, 8));
  if (at < text.size()) add(load(text.data() + at, text.size() - at));
  return {mixed(low + std::rotl(high, 32)), mixed(high ^ std::rotl(low, 17))};
}

size_t TextHashSet::place_of(TextHash hash) const {
  const size_t mask = slots_.size() - 1;
  size_t place = hash.low & mask;
  while (slots_[place] != TextHash() && slots_[place] != hash) place = (place + 1) & mask;
  return place;
}

void TextHashSet::grow() {
  std::vector<TextHash> old(slots_.empty() ? 64 : slots_.size() * 2);
  old.swap(slots_);
  for (const TextHash hash : old) {
    if (hash != TextHash()) slots_[place_of(hash)] = hash;
  }
}

bool TextHashSet::insert(TextHash hash) {
  if (hash == TextHash()) hash.low = 1;
  if (4 * (count_ + 1) > 3 * slots_.size()) grow();
  TextHash& slot = slots_[place_of(hash)];
  if (slot == hash) return false;
  slot = hash;
  ++count_;
  return true;
}

}  // namespace berth
