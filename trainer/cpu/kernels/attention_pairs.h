#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "trainer/cpu/kernels/arguments.h"
#include "trainer/cpu/kernels/loops.h"

namespace berth {

// The number of queries that a head handles at a time. Scratch memory thus grows with the length of
// a sequence and not with its square.
inline constexpr int64_t kQueries = 128;

// The distance between rows of scores: whole vectors.
inline int64_t score_stride(int64_t keys) {
  return (keys + kScoreMultiple - 1) / kScoreMultiple * kScoreMultiple;
}

// The most keys that a block of queries meets in a sequence. A window is as AttentionInputs has it;
// a block's first key is a multiple of kScoreMultiple.
inline int64_t most_keys(int64_t length, int64_t window) {
  return window < 0 ? length : std::min(length, kQueries + 2 * window + kScoreMultiple);
}

// One sequence as one head sees it.
struct HeadView {
  int64_t first, length;         // the sequence's rows of the packed batch
  int64_t first_query, queries;  // its rows of queries: the same rows, or only the selected tokens'
                                 // rows
  int64_t head;
};

// The (sequence, head) pairs of a batch, cut into one contiguous part for each thread. The parts
// cost nearly the same. Borrows the inputs.
class AttentionPairs {
 public:
  // kByHeads goes through all sequences of one head first, so that a part meets few heads.
  enum class Order { kBySequences, kByHeads };

  AttentionPairs(const AttentionInputs& inputs, int64_t hidden_size, int threads,
                 Order order = Order::kBySequences);

  // Part `part` is the pairs [begin_of(part), end_of(part)).
  int64_t begin_of(int64_t part) const { return cuts_[static_cast<size_t>(part)]; }
  int64_t end_of(int64_t part) const { return cuts_[static_cast<size_t>(part) + 1]; }
  HeadView view(int64_t pair) const;
  // Calls fn(view) for the pairs of a part, but not for pairs of empty sequences.
  template <typename Fn>
  void for_part(int64_t part, const Fn& fn) const {
    for (int64_t i = begin_of(part); i < end_of(part); ++i) {
      if (view(i).length > 0) fn(view(i));
    }
  }
  // With the order kByHeads: the heads [first_head(part), end_head(part)) have pairs in the part.
  int64_t first_head(int64_t part) const;
  int64_t end_head(int64_t part) const;

  const int64_t sequences, heads, hidden, head_size;

 private:
  double cost(int64_t pair) const;

  const int32_t* cu_;
  int64_t window_;
  Order order_;
  std::vector<int32_t> cu_queries_;  // as cu_seqlens, for the rows of queries
  std::vector<int64_t> cuts_;
};

}  // namespace berth
