#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/text/template_tokenizer.h"

namespace berth {

// A part of a word while the word is being merged.
struct Symbol {
  int32_t id;
  Span span;            // bytes of the word
  bool frozen = false;  // never merged with its neighbors
};

// The merges of a byte pair encoding (Sennrich et al. 2016): a hash table from a pair of ids to the
// id that they become. Once it is filled it is immutable and thread-safe.
class PairMerges {
 public:
  void reserve(size_t count);
  // Merges of lower rank are applied first. If a pair is inserted twice, the first one counts.
  void insert(int32_t left, int32_t right, uint32_t rank, int32_t merged);

  struct Merge {
    uint32_t rank = UINT32_MAX;  // UINT32_MAX means that there is no merge
    int32_t merged = -1;
  };
  Merge find(int32_t left, int32_t right) const;

  // A pair of neighbors that could have been merged at some point.
  struct Candidate {
    int32_t merged;
    Span left, right;
  };

  // Merges neighbors until no merge is left. Each time it applies the merge of the lowest rank, and
  // among equal ranks the leftmost. Short words are scanned; long ones use a heap and take n log n
  // time. If `candidates` is not null, it receives every pair that was considered, in order.
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

  std::vector<Slot> slots_;  // the size is a power of two; at most half of them are used
  size_t size_ = 0;
};

}  // namespace berth
