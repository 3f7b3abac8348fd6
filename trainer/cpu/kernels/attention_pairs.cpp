#include "trainer/cpu/kernels/attention_pairs.h"

#include <algorithm>
#include <cassert>

namespace berth {

AttentionPairs::AttentionPairs(const AttentionInputs& inputs, int64_t hidden_size, int threads,
                               Order order)
    : sequences(inputs.cu_seqlens.elements() - 1),
      heads(inputs.num_heads),
      hidden(hidden_size),
      head_size(hidden / heads),
      cu_(inputs.cu_seqlens.i32()),
      window_(inputs.window),
      order_(order),
      cu_queries_(cu_, cu_ + sequences + 1) {
  assert(sequences >= 0 && head_size * heads == hidden);
  if (inputs.selected) {
    const int32_t* const begin = inputs.selected.i32();
    const int32_t* const end = begin + inputs.selected.rows();
    for (int32_t& rows : cu_queries_) {
      rows = static_cast<int32_t>(std::lower_bound(begin, end, rows) - begin);
    }
  }
  const int64_t pairs = sequences * heads;
  double total = 0;
  for (int64_t pair = 0; pair < pairs; ++pair) total += cost(pair);
  // A part ends before the pair whose middle passes the part's share of the cost.
  cuts_.assign(static_cast<size_t>(threads) + 1, pairs);
  cuts_[0] = 0;
  double passed = 0;
  size_t next = 1;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const double middle = passed + cost(pair) / 2;
    while (next < cuts_.size() - 1 && middle >= total * static_cast<double>(next) / threads) {
      cuts_[next++] = pair;
    }
    passed += cost(pair);
  }
}

double AttentionPairs::cost(int64_t pair) const {
  const HeadView pair_view = view(pair);
  const auto length = static_cast<double>(pair_view.length);
  const auto keys = static_cast<double>(most_keys(pair_view.length, window_));
  return keys * static_cast<double>(pair_view.queries) + 16 * length;
}

HeadView AttentionPairs::view(int64_t pair) const {
  const bool by_heads = order_ == Order::kByHeads;
  const int64_t b = by_heads ? pair % sequences : pair / heads;
  const auto sequence = static_cast<size_t>(b);
  return {.first = cu_[b],
          .length = cu_[b + 1] - cu_[b],
          .first_query = cu_queries_[sequence],
          .queries = cu_queries_[sequence + 1] - cu_queries_[sequence],
          .head = by_heads ? pair / sequences : pair % heads};
}

int64_t AttentionPairs::first_head(int64_t part) const {
  return begin_of(part) / std::max<int64_t>(1, sequences);
}

int64_t AttentionPairs::end_head(int64_t part) const {
  return begin_of(part) == end_of(part) ? first_head(part) : (end_of(part) - 1) / sequences + 1;
}

}  // namespace berth
