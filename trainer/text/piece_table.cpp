#include "trainer/text/piece_table.h"

#include <bit>
#include <cstring>
#include <limits>

#include "storage/base/error.h"

namespace berth {

namespace {

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;

uint64_t hash_of(std::string_view text) {
  uint64_t hash = text.size() * kMultiplier;
  uint64_t word;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    hash = (std::rotl(hash, 29) ^ word) * kMultiplier;
  }
  word = 0;
  std::memcpy(&word, text.data(), text.size());
  hash = (std::rotl(hash, 29) ^ word) * kMultiplier;
  return hash ^ hash >> 32;
}

uint32_t slot_tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

}  // namespace

void PieceTable::reserve(size_t count, size_t bytes) {
  arena_.reserve(bytes);
  entries_.reserve(count);
  grow(std::bit_ceil(2 * count + 2));
}

void PieceTable::grow(size_t slots) {
  slots_.assign(slots, Slot{});
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::string_view text = text_of(entries_[i]);
    const uint64_t hash = hash_of(text);
    slots_[slot_of(text, hash)] = {slot_tag(hash), static_cast<int32_t>(i)};
  }
}

size_t PieceTable::slot_of(std::string_view text, uint64_t hash) const {
  size_t i = hash & (slots_.size() - 1);
  while (slots_[i].entry >= 0) {
    if (slots_[i].tag == slot_tag(hash) &&
        text_of(entries_[static_cast<size_t>(slots_[i].entry)]) == text) {
      break;
    }
    i = (i + 1) & (slots_.size() - 1);
  }
  return i;
}

void PieceTable::insert(std::string_view text, int32_t value) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow(std::bit_ceil(4 * entries_.size() + 8));
  const uint64_t hash = hash_of(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.entry >= 0) {
    entries_[static_cast<size_t>(slot.entry)].value = value;
    return;
  }
  if (arena_.size() + text.size() > std::numeric_limits<uint32_t>::max()) {
    throw Error(Code::kBadData, "a vocabulary of over 4 GiB is too large");
  }
  slot = {slot_tag(hash), static_cast<int32_t>(entries_.size())};
  entries_.push_back(
      {static_cast<uint32_t>(arena_.size()), static_cast<uint32_t>(text.size()), value});
  arena_ += text;
}

int32_t PieceTable::find(std::string_view text) const {
  if (slots_.empty()) return -1;
  const Slot& slot = slots_[slot_of(text, hash_of(text))];
  return slot.entry < 0 ? -1 : entries_[static_cast<size_t>(slot.entry)].value;
}

}  // namespace berth
