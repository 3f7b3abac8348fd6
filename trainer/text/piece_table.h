#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Texts with a number each, in one arena behind an open-addressing hash table. Immutable once
// filled, then thread-safe.
class PieceTable {
 public:
  // Room for `count` texts of `bytes` in all.
  void reserve(size_t count, size_t bytes);

  // Of equal texts the last counts.
  void insert(std::string_view text, int32_t value);

  // The value, or -1. Values are not negative.
  int32_t find(std::string_view text) const;

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    uint32_t begin, size;
    int32_t value;
  };
  struct Slot {
    uint32_t tag = 0;
    int32_t entry = -1;
  };

  std::string_view text_of(const Entry& entry) const {
    return {arena_.data() + entry.begin, entry.size};
  }
  size_t slot_of(std::string_view text, uint64_t hash) const;
  void grow(size_t slots);

  std::string arena_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace berth
