#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Maps texts to numbers. The texts are stored in one arena behind an open-addressing hash table.
// Once it is filled it is immutable and thread-safe.
class PieceTable {
 public:
  // Reserves room for `count` texts with `bytes` bytes in total.
  void reserve(size_t count, size_t bytes);

  // If a text is inserted twice, the last value counts. Values must not be negative.
  void insert(std::string_view text, int32_t value);

  // Returns the value, or -1 if the text is absent.
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
  std::vector<Slot> slots_;  // the size is a power of two; at most half of them are used
};

}  // namespace berth
