#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/text/template_tokenizer.h"

namespace berth {

// A part of a word on its way to be merged.
struct Symbol {
  int32_t id;
  Span span;            // in bytes of the word
  bool frozen = false;  // merges with nothing
};

// The merges of a byte pair encoding (Sennrich et al. 2016) as a table from two ids to the one that
// they become. Immutable once filled, then thread-safe.
class PairMerges {
 public:
  void reserve(size_t count);
  // A lower rank goes first. Of equal pairs the first counts.
  void insert(int32_t left, int32_t right, uint32_t rank, int32_t merged);

  struct Merge {
    uint32_t rank = UINT32_MAX;  // no merge
    int32_t merged = -1;
  };
  Merge find(int32_t left, int32_t right) const;

  // A pair that could have been merged when it came to stand together.
  struct Candidate {
    int32_t merged;
    Span left, right;
  };

  // Merges neighbours, always those of the lowest rank, of these the leftmost, until none is left
  // to merge. Short words by scanning, long ones by a heap: n log n. `candidates`, if not null,
  // gets all that were considered, in order.
  void apply(std::vector<Symbol>& symbols, std::vector<Candidate>* candidates = nullptr) const;

 private:
  struct Slot {
    uint64_t pair = UINT64_MAX;
    Merge merge;
  };

  size_t slot_of(uint64_t pair) const;
  void grow(size_t slots);
  Merge between(const Symbol& left, const Symbol& right, std::vector<Candidate>* candidates) const;
  void scan(std::vector<Symbol>& symbols, std::vector<Candidate>* candidates) const;
  void merge_by_heap(std::vector<Symbol>& symbols, std::vector<Candidate>* candidates) const;

  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t size_ = 0;
};

}  // namespace berth
