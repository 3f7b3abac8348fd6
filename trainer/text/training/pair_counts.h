#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

// What a merge trainer knows of each pair of neighbors: an open-addressing hash table from two ids
// to a record. Records are numbered from 0 in the order of their creation and never move to another
// number. Not thread-safe.
class PairCounts {
 public:
  struct Pair {
    int32_t left, right;
    uint64_t count = 0;             // occurrences in the text
    uint64_t queued = 0;            // the count by which the pair is in the queue; 0: it is not
    std::vector<uint32_t> words{};  // those it occurs in, or occurred in
  };

  // Returns the number of the pair's record, which is created if it is absent.
  uint32_t number(int32_t left, int32_t right);

  Pair& operator[](uint32_t number) { return pairs_[number]; }
  size_t size() const { return pairs_.size(); }

 private:
  static size_t hash(int32_t left, int32_t right);
  void grow();

  std::vector<Pair> pairs_;
  std::vector<uint32_t> slots_;  // number + 1, or 0; a power of two, at most half of them are used
};

}  // namespace berth
