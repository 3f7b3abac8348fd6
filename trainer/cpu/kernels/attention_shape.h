#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <vector>

#include "trainer/cpu/kernels/loops.h"
#include "trainer/cpu/kernels/tensor.h"

namespace berth {

// Queries handled at a time, so that scratch memory grows with the length and not its square.
inline constexpr int64_t kQueries = 128;

inline int64_t score_stride(int64_t keys) {
  return (keys + kScoreMultiple - 1) / kScoreMultiple * kScoreMultiple;
}

// One sequence as one head sees it.
struct HeadView {
  int64_t first, length;         // rows of the packed batch
  int64_t first_query, queries;  // rows of queries: the same, or those of picked tokens
  int64_t head;
};

// The (sequence, head) pairs of a batch, cut into one contiguous part for each thread, of nearly
// equal cost.
struct AttentionShape {
  // Which of the two the pairs go through first. By heads: a part meets few of them.
  enum class Order { kBySequences, kByHeads };

  // With `picked`, increasing, they alone are queries.
  AttentionShape(int64_t hidden_size, Tensor cu_seqlens, int num_heads, int threads,
                 Order pairs = Order::kBySequences, Tensor picked = {})
      : cu(cu_seqlens.i32()),
        sequences(cu_seqlens.elements() - 1),
        heads(num_heads),
        hidden(hidden_size),
        head_size(hidden / num_heads),
        order(pairs),
        cu_queries(cu, cu + sequences + 1) {
    assert(sequences >= 0 && head_size * heads == hidden);
    if (picked) {
      const int32_t* const begin = picked.i32();
      for (int32_t& rows : cu_queries) {
        rows = static_cast<int32_t>(std::lower_bound(begin, begin + picked.rows(), rows) - begin);
      }
    }
    double total = 0;
    for (int64_t pair = 0; pair < sequences * heads; ++pair) total += cost(pair);
    // A part ends with the pair whose middle passes its share of the cost.
    cuts.assign(static_cast<size_t>(threads) + 1, sequences * heads);
    cuts[0] = 0;
    double passed = 0;
    size_t next = 1;
    for (int64_t pair = 0; pair < sequences * heads; ++pair) {
      const double middle = passed + cost(pair) / 2;
      while (next < cuts.size() - 1 && middle >= total * static_cast<double>(next) / threads) {
        cuts[next++] = pair;
      }
      passed += cost(pair);
    }
  }

  // Scores of `rows` queries that are sums of `terms` products of D, scaled by 1 / sqrt(D * terms).
  ScoreBlock block(const HeadView& view, int64_t rows, int terms = 1) const {
    return {.head = static_cast<uint32_t>(view.head),
            .rows = rows,
            .keys = view.length,
            .stride = score_stride(view.length),
            .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_size * terms)))};
  }

  double cost(int64_t pair) const {
    const HeadView pair_view = view(pair);
    const auto length = static_cast<double>(pair_view.length);
    return length * static_cast<double>(pair_view.queries) + 16 * length;
  }
  HeadView view(int64_t pair) const {
    const bool by_heads = order == Order::kByHeads;
    const int64_t b = by_heads ? pair % sequences : pair / heads;
    const auto row = static_cast<size_t>(b);
    return {.first = cu[b],
            .length = cu[b + 1] - cu[b],
            .first_query = cu_queries[row],
            .queries = cu_queries[row + 1] - cu_queries[row],
            .head = by_heads ? pair / sequences : pair % heads};
  }
  int64_t begin_of(int64_t part) const { return cuts[static_cast<size_t>(part)]; }
  int64_t end_of(int64_t part) const { return cuts[static_cast<size_t>(part) + 1]; }
  // fn(view) for the pairs of a part.
  template <typename Fn>
  void for_part(int64_t part, const Fn& fn) const {
    for (int64_t i = begin_of(part); i < end_of(part); ++i) {
      if (view(i).length > 0) fn(view(i));
    }
  }

  const int32_t* cu;
  int64_t sequences, heads, hidden, head_size;
  Order order;
  std::vector<int32_t> cu_queries;  // as cu, of the rows of queries
  std::vector<int64_t> cuts;
};

}  // namespace berth
