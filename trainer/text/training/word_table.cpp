#include "trainer/text/training/word_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace berth {

namespace {

constexpr size_t kFewestSlots = 64;

}  // namespace

void WordTable::add(std::string_view word, uint64_t hash, uint64_t count) {
  if (2 * (entries_.size() + 1) > slots_.size()) resize(std::max(kFewestSlots, 2 * slots_.size()));
  const size_t mask = slots_.size() - 1;
  size_t slot = (hash >> 8) & mask;  // the low bits chose the shard
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == hash && this->word(entry) == word) {
      entry.count += count;
      return;
    }
  }
  entries_.push_back({hash, count, arena_.size(), static_cast<uint32_t>(word.size())});
  arena_ += word;
  slots_[slot] = static_cast<uint32_t>(entries_.size());
}

void WordTable::insert(uint64_t hash, uint32_t entry) {
  const size_t mask = slots_.size() - 1;
  size_t slot = (hash >> 8) & mask;
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  slots_[slot] = entry + 1;
}

void WordTable::resize(size_t slots) {
  slots_.assign(slots, 0);
  for (uint32_t i = 0; i < entries_.size(); ++i) insert(entries_[i].hash, i);
}

void WordTable::remove_rare(uint64_t count) {
  size_t bytes = 0, kept = 0;
  for (const Entry& entry : entries_) {
    if (entry.count <= count) continue;
    // Words move towards the beginning of the arena only, past bytes that were already moved.
    std::memmove(arena_.data() + bytes, arena_.data() + entry.offset, entry.size_bytes);
    Entry moved = entry;
    moved.offset = bytes;
    bytes += entry.size_bytes;
    entries_[kept++] = moved;
  }
  entries_.resize(kept);
  arena_.resize(bytes);
  resize(slots_.size());
}

void WordTable::clear() {
  arena_.clear();
  entries_.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
}

size_t ShardedWordTable::size() const {
  size_t total = 0;
  for (const WordTable& shard : shards_) total += shard.size();
  return total;
}

size_t ShardedWordTable::word_bytes() const {
  size_t total = 0;
  for (const WordTable& shard : shards_) total += shard.word_bytes();
  return total;
}

}  // namespace berth
