#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "trainer/cpu/kernels/arguments.h"
#include "trainer/cpu/kernels/dropout.h"
#include "trainer/cpu/kernels/gemm.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/loops.h"

namespace berth {
namespace {

// The number of queries that a head handles at a time. Scratch memory thus grows with the length of
// a sequence and not with its square.
constexpr int64_t kQueries = 128;

// The distance between rows of scores: whole vectors.
int64_t score_stride(int64_t keys) {
  return (keys + kScoreMultiple - 1) / kScoreMultiple * kScoreMultiple;
}

// The most keys that a block of queries meets in a sequence. A window is as AttentionInputs has it;
// a block's first key is a multiple of kScoreMultiple.
int64_t most_keys(int64_t length, int64_t window) {
  return window < 0 ? length : std::min(length, kQueries + 2 * window + kScoreMultiple);
}

}  // namespace

// One sequence as one head sees it.
struct HeadView {
  int64_t first, length;  // the sequence's rows of the packed batch
  // Its rows of queries: the same rows, or only the rows of the selected tokens.
  int64_t first_query, queries;
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

// The queries, keys and values of one head's sequence, as factors of products.
struct AttentionFactors {
  Factor q, k, v;
};

// Where the gradients of queries, keys and values of one head's sequence are summed.
struct AttentionSums {
  float *q, *k, *v;
  int64_t q_stride, kv_stride;  // between rows
};

// The relative positions that a sequence of n tokens meets, as one head sees them: `count` rows of
// the inputs' qk from row `low` on.
struct RelativeView {
  RelativeView(const AttentionInputs& inputs, const AttentionPairs& pairs, const HeadView& view);

  const int32_t* row_of;  // by distance, query minus key
  int64_t low, count, stride;
  const float *queries, *keys;  // [count,D], `stride` apart
};

// Attention of one head inside one sequence, on the calling thread. Borrows what it is made from.
class AttentionHead {
 public:
  using Multiply = std::function<void(const Product&)>;

  // Products are made by `multiply`.
  AttentionHead(const CpuLoops& loops, const Multiply& multiply, const AttentionInputs& inputs,
                const AttentionPairs& pairs, const HeadView& view,
                const std::optional<DropoutDraw>& draw);

  // `scratch` grows to what is needed.
  void forward(Tensor out, Tensor log_sum_exp, std::vector<float>& scratch) const;

  struct Kept {
    ConstTensor dout, out, log_sum_exp;
  };
  // Adds the gradient of this head's queries and keys of relative positions to sums [P,2D]. Or adds
  // the gradient of the head's column of the position bias to sums [P]. `sums` is null if there are
  // no positions, or if the gradient is not wanted. Overwrites the other gradients of its sequence.
  void backward(const Kept& kept, const AttentionGradients& gradients, float* sums,
                std::vector<float>& scratch) const;

 private:
  struct Block;  // of at most kQueries queries, and its scores

  AttentionFactors factors_of(ConstTensor qkv, ConstTensor q) const;
  // Sums in fp32 lie in the gradients themselves. Otherwise they are taken from the scratch, and
  // store() rounds them once.
  AttentionSums sums_of(const AttentionGradients& gradients, float* room) const;
  int64_t sums_room(const AttentionGradients& gradients) const;  // elements
  void store(const AttentionSums& sums, const AttentionGradients& gradients) const;
  // Element `at` and the following ones of a head's row of x, in fp32; perhaps copied to `room`.
  const float* widened(ConstTensor x, int64_t at, float* room) const;
  // Where the rows of queries from `begin` on begin: in out and dout, and in log_sum_exp.
  int64_t at(int64_t begin) const;
  int64_t log_at(int64_t begin) const;
  // The keys that the queries of a block may see: all of the sequence, or those in their windows.
  struct Keys {
    int64_t first, count;
  };
  Keys keys_of(const Block& block) const;
  ScoreBlock score_block(const Block& block) const;

  // The biases by offset (key minus query) from 1 - length on, as unscaled scores need them:
  // [2 length - 1].
  void biases_by_offset(float* bias) const;
  int64_t bias_row(int64_t offset) const;  // of an offset counted like that
  // The place of the block's query i in its sequence.
  int64_t place_of(const Block& block, int64_t i) const;
  float scale() const;  // of scores
  void position_to_content(float* p2c) const;
  void compute_scores(const Block& block) const;
  // Scores of keys beyond a query's window become minus infinity.
  void close_windows(const Block& block) const;
  void backward_of_block(const Block& block, const Kept& kept, const AttentionSums& gradients,
                         float* sums) const;
  void backward_through_positions(const Block& block, float* dq, int64_t dq_stride,
                                  float* sums) const;
  // c [m,n] = a [m,D] b [n,D]^T.
  void dot_products(int64_t m, int64_t n, Factor a, Factor b, float* c, int64_t c_stride) const;
  // c [m,D] = a [m,k] b [k,D], or that added to it.
  void accumulate(int64_t m, int64_t k, Factor a, Factor b, float* c, int64_t c_stride,
                  bool add) const;
  // Calls fn(score, c2p, p2c) with the places of every (query, key) of a block.
  template <typename Fn>
  void for_pairs(const Block& block, const Fn& fn) const;

  const CpuLoops& loops_;
  const Multiply& multiply_;
  const AttentionInputs& inputs_;
  const AttentionPairs& pairs_;
  const HeadView view_;
  const std::optional<DropoutDraw>& draw_;
  const std::optional<RelativeView> relative_;
  const int64_t stride_;  // of scores
  const AttentionFactors rows_;
};

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
  // Selected rows increase, so the rows of queries of a sequence lie end to end, too.
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

namespace {

// Hands out parts of a thread's scratch memory, one after the other.
class Scratch {
 public:
  Scratch(std::vector<float>& memory, int64_t elements) : memory_(memory) {
    if (memory.size() < static_cast<size_t>(elements)) memory.resize(static_cast<size_t>(elements));
  }
  float* take(int64_t elements) {
    float* part = memory_.data() + used_;
    used_ += elements;
    return part;
  }

 private:
  std::vector<float>& memory_;
  int64_t used_ = 0;
};

}  // namespace

RelativeView::RelativeView(const AttentionInputs& inputs, const AttentionPairs& pairs,
                           const HeadView& view)
    : row_of(inputs.relative.rows.i32() + inputs.relative.longest() - 1),
      low(row_of[1 - view.length]),
      count(row_of[view.length - 1] - low + 1),
      stride(2 * pairs.hidden),
      queries(inputs.relative.qk.f32() + low * stride + view.head * pairs.head_size),
      keys(queries + pairs.hidden) {
  assert(view.length <= inputs.relative.longest());
}

// Queries [begin, begin + queries) of the sequence. A score is the sum of three terms: content to
// content, content to position (c2p) and position to content (p2c). The last two are stored by
// relative row.
struct AttentionHead::Block {
  int64_t begin, queries;
  float* scores;             // [queries, stride_]
  float *c2p, *p2c;          // [queries, count], [n, count]
  float* dscores = nullptr;  // as scores
  float *dc2p = nullptr, *dp2c = nullptr;
  float* delta = nullptr;                   // [queries]
  float* rows = nullptr;                    // [2,D], of dout and out in fp32
  float *bias = nullptr, *dbias = nullptr;  // as biases_by_offset(); null where there is none
};

AttentionHead::AttentionHead(const CpuLoops& loops, const Multiply& multiply,
                             const AttentionInputs& inputs, const AttentionPairs& pairs,
                             const HeadView& view, const std::optional<DropoutDraw>& draw)
    : loops_(loops),
      multiply_(multiply),
      inputs_(inputs),
      pairs_(pairs),
      view_(view),
      draw_(draw),
      relative_(inputs.relative ? std::optional<RelativeView>(std::in_place, inputs, pairs, view)
                                : std::nullopt),
      stride_(score_stride(most_keys(view.length, inputs.window))),
      rows_(factors_of(inputs.qkv, inputs.q)) {
  assert(inputs.window < 0 || (!inputs.relative && !inputs.bias && !inputs.selected));
  assert(!inputs.bias || (!inputs.relative && view.length <= inputs.bias.longest()));
}

AttentionFactors AttentionHead::factors_of(ConstTensor qkv, ConstTensor q) const {
  const int64_t hidden = pairs_.hidden, column = view_.head * pairs_.head_size;
  const int64_t values = qkv.columns() - hidden + column;
  return {.q = Factor(q ? q : qkv).from(view_.first_query, column),
          .k = Factor(qkv).from(view_.first, values - hidden),
          .v = Factor(qkv).from(view_.first, values)};
}

int64_t AttentionHead::sums_room(const AttentionGradients& gradients) const {
  if (gradients.dqkv.dtype == DType::kF32) return 0;
  return (view_.queries + 2 * view_.length) * pairs_.head_size;
}

AttentionSums AttentionHead::sums_of(const AttentionGradients& gradients, float* room) const {
  const Tensor dqkv = gradients.dqkv, dq = gradients.dq;
  const int64_t hidden = pairs_.hidden, size = pairs_.head_size;
  if (dqkv.dtype != DType::kF32) {
    float* const keys = room + view_.queries * size;
    return {
        .q = room, .k = keys, .v = keys + view_.length * size, .q_stride = size, .kv_stride = size};
  }
  const int64_t kv_stride = dqkv.columns(), q_stride = dq ? hidden : kv_stride;
  const int64_t column = view_.head * size;
  float* const values = dqkv.f32() + view_.first * kv_stride + kv_stride - hidden + column;
  return {.q = (dq ? dq : dqkv).f32() + view_.first_query * q_stride + column,
          .k = values - hidden,
          .v = values,
          .q_stride = q_stride,
          .kv_stride = kv_stride};
}

void AttentionHead::store(const AttentionSums& sums, const AttentionGradients& gradients) const {
  const Tensor dqkv = gradients.dqkv, dq = gradients.dq ? gradients.dq : dqkv;
  if (dqkv.dtype == DType::kF32) return;
  const int64_t size = pairs_.head_size, column = view_.head * size, columns = dqkv.columns();
  for (int64_t i = 0; i < view_.queries; ++i) {
    loops_.to_bf16(sums.q + i * size, dq.bf16() + (view_.first_query + i) * dq.columns() + column,
                   size);
  }
  for (int64_t j = 0; j < view_.length; ++j) {
    uint16_t* const values =
        dqkv.bf16() + (view_.first + j) * columns + columns - pairs_.hidden + column;
    loops_.to_bf16(sums.k + j * size, values - pairs_.hidden, size);
    loops_.to_bf16(sums.v + j * size, values, size);
  }
}

const float* AttentionHead::widened(ConstTensor x, int64_t at, float* room) const {
  if (x.dtype == DType::kF32) return x.f32() + at;
  loops_.from_bf16(x.bf16() + at, room, pairs_.head_size);
  return room;
}

int64_t AttentionHead::at(int64_t begin) const {
  return (view_.first_query + begin) * pairs_.hidden + view_.head * pairs_.head_size;
}

int64_t AttentionHead::log_at(int64_t begin) const {
  return (view_.first_query + begin) * pairs_.heads + view_.head;
}

AttentionHead::Keys AttentionHead::keys_of(const Block& block) const {
  const int64_t window = inputs_.window;
  if (window < 0) return {0, view_.length};
  const int64_t first = std::max<int64_t>(0, block.begin - window) / kScoreMultiple;
  const int64_t end = std::min(view_.length, block.begin + block.queries + window);
  return {first * kScoreMultiple, end - first * kScoreMultiple};
}

int64_t AttentionHead::place_of(const Block& block, int64_t i) const {
  if (!inputs_.selected) return block.begin + i;
  return inputs_.selected.i32()[view_.first_query + block.begin + i] - view_.first;
}

float AttentionHead::scale() const {
  const int64_t terms = relative_ ? 3 : 1;
  return static_cast<float>(1 / std::sqrt(static_cast<double>(pairs_.head_size * terms)));
}

ScoreBlock AttentionHead::score_block(const Block& block) const {
  const Keys keys = keys_of(block);
  return {.head = static_cast<uint32_t>(view_.head),
          .rows = block.queries,
          .keys = keys.count,
          .stride = stride_,
          .scale = scale(),
          .first_key = keys.first};
}

template <typename Fn>
void AttentionHead::for_pairs(const Block& block, const Fn& fn) const {
  for (int64_t i = 0; i < block.queries; ++i) {
    const int32_t* const row_of = relative_->row_of + place_of(block, i);
    for (int64_t j = 0; j < view_.length; ++j) {
      const int64_t r = row_of[-j] - relative_->low;
      fn(i * stride_ + j, i * relative_->count + r, j * relative_->count + r);
    }
  }
}

void AttentionHead::forward(Tensor out, Tensor log_sum_exp, std::vector<float>& memory) const {
  const int64_t length = view_.length, most = std::min(kQueries, view_.queries);
  const int64_t count = relative_ ? relative_->count : 0;
  const int64_t offsets = inputs_.bias ? 2 * length - 1 : 0;
  const bool rounds = out.dtype != DType::kF32;
  const int64_t attended = rounds ? most * pairs_.head_size : 0;
  // scores [queries,keys]; c2p [queries,P] and p2c [n,P] of P relative positions; bias [2n-1]; and
  // the output [queries,D] before it is rounded.
  Scratch scratch(memory, (length + most) * count + most * stride_ + offsets + attended);
  Block block{.begin = 0,
              .queries = 0,
              .scores = nullptr,
              .c2p = scratch.take(most * count),
              .p2c = scratch.take(length * count)};
  block.scores = scratch.take(most * stride_);
  if (inputs_.bias) biases_by_offset(block.bias = scratch.take(offsets));
  if (relative_) position_to_content(block.p2c);
  float* const room = scratch.take(attended);
  // Blocks of queries, each with all of its keys.
  for (; block.begin < view_.queries; block.begin += kQueries) {
    block.queries = std::min(kQueries, view_.queries - block.begin);
    // 1. scores = q k^T [queries,keys] and what positions add to it.
    compute_scores(block);
    // 2. In place: probabilities, scaled by dropout's factors. log_sum_exp is kept for backward.
    loops_.attention_softmax(block.scores, score_block(block),
                             RowDraw(draw_, view_.first_query + block.begin).get(),
                             log_sum_exp.f32() + log_at(block.begin), pairs_.heads);
    // 3. out [queries,D] = probabilities v [keys,D].
    const Keys keys = keys_of(block);
    accumulate(block.queries, keys.count, {block.scores, stride_}, rows_.v.from(keys.first, 0),
               rounds ? room : out.f32() + at(block.begin),
               rounds ? pairs_.head_size : pairs_.hidden, false);
    for (int64_t i = 0; rounds && i < block.queries; ++i) {
      loops_.to_bf16(room + i * pairs_.head_size, out.bf16() + at(block.begin + i),
                     pairs_.head_size);
    }
  }
}

void AttentionHead::backward(const Kept& kept, const AttentionGradients& gradients, float* sums,
                             std::vector<float>& memory) const {
  const int64_t length = view_.length, most = std::min(kQueries, view_.queries);
  const int64_t size = pairs_.head_size, count = relative_ ? relative_->count : 0;
  // The scratch of forward, and a gradient beside each part of it. delta [queries].
  const int64_t offsets = inputs_.bias ? 2 * length - 1 : 0;
  const int64_t room = sums_room(gradients);
  Scratch scratch(memory, 2 * (length + most) * count + most * (2 * stride_ + 1) + 2 * offsets +
                              2 * size + room);
  const AttentionSums d = sums_of(gradients, scratch.take(room));
  // Blocks with windows add to the gradients of some keys, and the others overwrite all.
  const bool starts_from_zero = view_.queries == 0 || inputs_.window >= 0;
  for (int64_t j = 0; starts_from_zero && j < length; ++j) {
    std::fill_n(d.k + j * d.kv_stride, size, 0.0f);
    std::fill_n(d.v + j * d.kv_stride, size, 0.0f);
  }
  if (view_.queries == 0) return store(d, gradients);

  Block block{.begin = 0,
              .queries = 0,
              .scores = nullptr,
              .c2p = scratch.take(most * count),
              .p2c = scratch.take(length * count),
              .dc2p = scratch.take(most * count),
              .dp2c = scratch.take(length * count)};
  block.scores = scratch.take(most * stride_);
  block.dscores = scratch.take(most * stride_);
  block.delta = scratch.take(most);
  block.rows = scratch.take(2 * size);
  if (inputs_.bias) {
    biases_by_offset(block.bias = scratch.take(offsets));
    block.dbias = scratch.take(offsets);
    std::fill_n(block.dbias, offsets, 0.0f);
  }
  if (relative_) position_to_content(block.p2c);
  std::fill_n(block.dp2c, length * count, 0.0f);
  // Each block adds to the gradients of all keys and values that it meets.
  for (; block.begin < view_.queries; block.begin += kQueries) {
    block.queries = std::min(kQueries, view_.queries - block.begin);
    backward_of_block(block, kept, d, sums);
  }
  // The scores had bias / scale added to them, and were scaled after that.
  if (sums != nullptr) {
    for (int64_t i = 0; i < offsets; ++i) sums[bias_row(i)] += block.dbias[i] / scale();
  }
  // dk [n,D] += dp2c [n,P] pq [P,D];  dpq [P,D] += dp2c^T k [n,D].
  if (relative_) {
    accumulate(length, count, {block.dp2c, count}, {relative_->queries, relative_->stride}, d.k,
               d.kv_stride, true);
    accumulate(count, length, {block.dp2c, count, true}, rows_.k, sums + relative_->low * 2 * size,
               2 * size, true);
  }
  store(d, gradients);
}

void AttentionHead::backward_of_block(const Block& block, const Kept& kept, const AttentionSums& d,
                                      float* sums) const {
  const int64_t queries = block.queries, begin = block.begin;
  const auto [first, count] = keys_of(block);
  const Factor q = rows_.q.from(begin, 0);
  const Factor dout =
      Factor(kept.dout).from(view_.first_query + begin, view_.head * pairs_.head_size);
  // 1. delta [queries] = the row sums of dout * out, which softmax's derivative needs.
  for (int64_t i = 0; i < queries; ++i) {
    block.delta[i] = loops_.dot(widened(kept.dout, at(begin + i), block.rows),
                                widened(kept.out, at(begin + i), block.rows + pairs_.head_size),
                                pairs_.head_size);
  }
  // 2. The scores again, and dprobabilities [queries,keys] = dout v^T in the place of dscores.
  compute_scores(block);
  dot_products(queries, count, dout, rows_.v.from(first, 0), block.dscores, stride_);
  // 3. In place: scores become the dropped probabilities, dprobabilities the gradient of q k^T.
  loops_.attention_softmax_backward(block.scores, block.dscores, score_block(block),
                                    RowDraw(draw_, view_.first_query + begin).get(),
                                    kept.log_sum_exp.f32() + log_at(begin), pairs_.heads,
                                    block.delta);
  // 4. dv [keys,D] = probabilities^T dout;  dk [keys,D] = dscores^T q;  dq [queries,D] = dscores k.
  // The first block overwrites dv and dk. Windows are zeroed before, because blocks meet other
  // keys.
  float* const dq = d.q + begin * d.q_stride;
  const bool add = begin > 0 || inputs_.window >= 0;
  accumulate(count, queries, {block.scores, stride_, true}, dout, d.v + first * d.kv_stride,
             d.kv_stride, add);
  accumulate(count, queries, {block.dscores, stride_, true}, q, d.k + first * d.kv_stride,
             d.kv_stride, add);
  accumulate(queries, count, {block.dscores, stride_}, rows_.k.from(first, 0), dq, d.q_stride,
             false);
  // 5. What positions added to the scores gets the same gradient.
  if (relative_) backward_through_positions(block, dq, d.q_stride, sums);
  for (int64_t i = 0; inputs_.bias && i < queries; ++i) {
    loops_.add(block.dscores + i * stride_, block.dbias + view_.length - 1 - place_of(block, i),
               count);
  }
}

void AttentionHead::backward_through_positions(const Block& block, float* dq, int64_t dq_stride,
                                               float* sums) const {
  const int64_t count = relative_->count, size = pairs_.head_size;
  const Factor q = rows_.q.from(block.begin, 0);
  std::fill_n(block.dc2p, block.queries * count, 0.0f);
  // c2p and p2c were spread over the scores by distance, so their gradients are gathered by it.
  for_pairs(block, [&block](int64_t score, int64_t of_query, int64_t of_key) {
    block.dc2p[of_query] += block.dscores[score];
    block.dp2c[of_key] += block.dscores[score];
  });
  // dq [queries,D] += dc2p [queries,P] pk [P,D];  dpk [P,D] += dc2p^T q [queries,D].
  accumulate(block.queries, count, {block.dc2p, count}, {relative_->keys, relative_->stride}, dq,
             dq_stride, true);
  accumulate(count, block.queries, {block.dc2p, count, true}, q,
             sums + relative_->low * 2 * size + size, 2 * size, true);
}

int64_t AttentionHead::bias_row(int64_t offset) const {
  const int64_t distance = view_.length - 1 - offset;  // query minus key
  return inputs_.bias.rows.i32()[inputs_.bias.longest() - 1 + distance];
}

void AttentionHead::biases_by_offset(float* bias) const {
  const float* const column = inputs_.bias.table.f32() + view_.head;
  for (int64_t i = 0; i < 2 * view_.length - 1; ++i) {
    bias[i] = column[bias_row(i) * pairs_.heads] / scale();
  }
}

void AttentionHead::position_to_content(float* p2c) const {
  dot_products(view_.length, relative_->count, rows_.k, {relative_->queries, relative_->stride},
               p2c, relative_->count);
}

void AttentionHead::compute_scores(const Block& block) const {
  const Factor q = rows_.q.from(block.begin, 0);
  const Keys keys = keys_of(block);
  dot_products(block.queries, keys.count, q, rows_.k.from(keys.first, 0), block.scores, stride_);
  if (inputs_.window >= 0) close_windows(block);
  // A row of biases is a window of the biases by offset, which moves by one with each query.
  for (int64_t i = 0; inputs_.bias && i < block.queries; ++i) {
    loops_.add(block.bias + view_.length - 1 - place_of(block, i), block.scores + i * stride_,
               view_.length);
  }
  // c2p [queries,P] = q pk^T; p2c [n,P] = k pq^T is the same for all blocks.
  if (!relative_) return;
  dot_products(block.queries, relative_->count, q, {relative_->keys, relative_->stride}, block.c2p,
               relative_->count);
  for_pairs(block, [&block](int64_t score, int64_t of_query, int64_t of_key) {
    block.scores[score] += block.c2p[of_query] + block.p2c[of_key];
  });
}

void AttentionHead::close_windows(const Block& block) const {
  const Keys keys = keys_of(block);
  constexpr float kClosed = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < block.queries; ++i) {
    float* const row = block.scores + i * stride_;
    const int64_t place = block.begin + i - keys.first;  // of the query, among the block's keys
    const int64_t before = std::clamp<int64_t>(place - inputs_.window, 0, keys.count);
    const int64_t after = std::clamp<int64_t>(place + inputs_.window + 1, 0, keys.count);
    std::fill(row, row + before, kClosed);
    std::fill(row + after, row + keys.count, kClosed);
  }
}

void AttentionHead::dot_products(int64_t m, int64_t n, Factor a, Factor b, float* c,
                                 int64_t c_stride) const {
  b.transposed = true;
  multiply_({.m = m, .n = n, .k = pairs_.head_size, .a = a, .b = b, .c = c, .c_stride = c_stride});
}

void AttentionHead::accumulate(int64_t m, int64_t k, Factor a, Factor b, float* c, int64_t c_stride,
                               bool add) const {
  multiply_({.m = m,
             .n = pairs_.head_size,
             .k = k,
             .a = a,
             .b = b,
             .c = c,
             .c_stride = c_stride,
             .add = add});
}

// The backward pass needs more scratch memory than the forward pass: the scratch of
// AttentionHead::backward for each thread, and sums for the gradients of positions. If two threads
// share a head, each of them has sums of its own for that head.
size_t Kernels::scratch_bytes(const ScratchExtent& extent) const {
  const int64_t length = extent.longest, queries = std::min(kQueries, length);
  const int64_t rows = std::min(extent.positions, std::max<int64_t>(0, 2 * length - 1));
  const int64_t threads = pool_.size();
  const int64_t offsets = extent.bias_rows > 0 ? std::max<int64_t>(0, 2 * length - 1) : 0;
  const int64_t of_thread = queries * (2 * score_stride(length) + 1) +
                            2 * (length + queries) * rows + 2 * offsets +
                            (bf16_ ? 3 * length + 2 : 2) * extent.head_size;
  const int64_t sums =
      (extent.heads + threads - 1) * (extent.positions * 2 * extent.head_size + extent.bias_rows);
  return static_cast<size_t>(threads * of_thread + sums) * sizeof(float) +
         static_cast<size_t>(threads * factored_room(extent.factored)) * sizeof(float) +
         (bf16_ ? bf16_->scratch_bytes() : 0) + (int8_ ? int8_->scratch_bytes(extent.deepest) : 0);
}

void Kernels::for_each_head(const AttentionInputs& inputs, const AttentionPairs& pairs,
                            const std::optional<DropoutDraw>& draw, const HeadFunction& fn) {
  attention_scratch_.resize(static_cast<size_t>(pool_.size()));
  parallel(pool_.size(), 1, [&](int64_t begin, int64_t end, int thread) {
    const AttentionHead::Multiply multiply = [&](const Product& product) {
      multiply_alone(product, thread);
    };
    for (int64_t part = begin; part < end; ++part) {
      pairs.for_part(part, [&](const HeadView& view) {
        fn(AttentionHead(loops_, multiply, inputs, pairs, view, draw), view, part,
           attention_scratch_[static_cast<size_t>(thread)]);
      });
    }
  });
}

void Kernels::attention_forward(const AttentionInputs& inputs, const StepState& state, Tensor out,
                                Tensor log_sum_exp) {
  const ProfileScope scope(pool_.profiler(), "attention_forward",
                           bytes_of({inputs.qkv, inputs.q, out}));
  const AttentionPairs pairs(inputs, out.columns(), pool_.size());
  for_each_head(inputs, pairs, draw_of(inputs.dropout, state),
                [&](const AttentionHead& head, const HeadView&, int64_t,
                    std::vector<float>& scratch) { head.forward(out, log_sum_exp, scratch); });
}

void Kernels::attention_backward(ConstTensor dout, const AttentionInputs& inputs,
                                 const StepState& state, ConstTensor out, ConstTensor log_sum_exp,
                                 const AttentionGradients& gradients) {
  const ProfileScope scope(
      pool_.profiler(), "attention_backward",
      bytes_of({inputs.qkv, inputs.q, dout, out, gradients.dqkv, gradients.dq}));
  using Order = AttentionPairs::Order;
  const AttentionPairs pairs(
      inputs, out.columns(), pool_.size(),
      inputs.relative || inputs.bias ? Order::kByHeads : Order::kBySequences);
  // Each part has sums of its own for the gradients of positions: [P,2D] of relative positions for
  // each of its heads, or [P] of the position bias.
  const int64_t of_head = inputs.relative   ? inputs.relative.qk.rows() * 2 * pairs.head_size
                          : gradients.dbias ? inputs.bias.table.rows()
                                            : 0;
  relative_sums_.resize(static_cast<size_t>(pool_.size()));
  parallel(of_head > 0 ? pool_.size() : 0, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t elements = (pairs.end_head(part) - pairs.first_head(part)) * of_head;
      relative_sums_[static_cast<size_t>(part)].assign(static_cast<size_t>(elements), 0.0f);
    }
  });
  // Each head writes the gradients of its own columns, so threads share nothing but these sums.
  for_each_head(inputs, pairs, draw_of(inputs.dropout, state),
                [&](const AttentionHead& head, const HeadView& view, int64_t part,
                    std::vector<float>& scratch) {
                  float* const sums = relative_sums_[static_cast<size_t>(part)].data();
                  float* const of_this =
                      of_head > 0 ? sums + (view.head - pairs.first_head(part)) * of_head : nullptr;
                  head.backward({dout, out, log_sum_exp}, gradients, of_this, scratch);
                });
  if (inputs.relative) add_relative_sums(pairs, gradients.drelative_qk);
  if (gradients.dbias) add_bias_sums(pairs, gradients.dbias);
}

// Adds the parts in their order, like the next one.
void Kernels::add_bias_sums(const AttentionPairs& pairs, Tensor dbias) const {
  const int64_t rows = dbias.rows();
  for (int64_t part = 0; part < pool_.size(); ++part) {
    const float* sums = relative_sums_[static_cast<size_t>(part)].data();
    for (int64_t head = pairs.first_head(part); head < pairs.end_head(part); ++head) {
      for (int64_t p = 0; p < rows; ++p) dbias.f32()[p * pairs.heads + head] += *sums++;
    }
  }
}

// Adds the parts in their order, so the result does not depend on which thread adds them.
void Kernels::add_relative_sums(const AttentionPairs& pairs, Tensor drelative_qk) {
  const int64_t positions = drelative_qk.rows(), size = pairs.head_size;
  parallel(positions, row_grain(2 * pairs.hidden), [&](int64_t begin, int64_t end, int) {
    for (int64_t p = begin; p < end; ++p) {
      float* row = drelative_qk.f32() + p * 2 * pairs.hidden;
      std::fill_n(row, 2 * pairs.hidden, 0.0f);
      for (int64_t part = 0; part < pool_.size(); ++part) {
        if (pairs.first_head(part) == pairs.end_head(part)) continue;  // more threads than heads
        const float* sums = relative_sums_[static_cast<size_t>(part)].data() + p * 2 * size;
        for (int64_t head = pairs.first_head(part); head < pairs.end_head(part); ++head) {
          loops_.add(sums, row + head * size, size);
          loops_.add(sums + size, row + pairs.hidden + head * size, size);
          sums += positions * 2 * size;
        }
      }
    }
  });
}

namespace {

// Turns the pairs (first[i * kStride], second[i * kStride]) of a head.
template <int64_t kStride>
void turn_head(float* first, float* second, int64_t pairs, const float* cosine, const float* sine,
               float direction) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float x = first[i * kStride], y = second[i * kStride], turn = direction * sine[i];
    first[i * kStride] = x * cosine[i] - y * turn;
    second[i * kStride] = y * cosine[i] + x * turn;
  }
}

}  // namespace

void Kernels::rotate_by(float direction, Tensor x, int64_t columns, ConstTensor positions,
                        const RotaryAngles& angles) {
  const int64_t half = angles.cosines.columns();
  assert(columns % (2 * half) == 0 && columns <= x.columns());
  parallel(x.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t position = positions.i32()[t];
      assert(position >= 0 && position < angles.cosines.rows());
      const float* const cosine = angles.cosines.f32() + position * half;
      const float* const sine = angles.sines.f32() + position * half;
      float* const row = x.f32() + t * x.columns();
      for (float* head = row; head < row + columns; head += 2 * half) {
        if (angles.turns_neighbours) {
          turn_head<2>(head, head + 1, half, cosine, sine, direction);
        } else {
          turn_head<1>(head, head + half, half, cosine, sine, direction);
        }
      }
    }
  });
}

void Kernels::rotate(Tensor x, int64_t columns, ConstTensor positions, const RotaryAngles& angles) {
  const ProfileScope scope(pool_.profiler(), "rotate", 2 * bytes_of({x}));
  rotate_by(1, x, columns, positions, angles);
}

void Kernels::rotate_backward(Tensor dx, int64_t columns, ConstTensor positions,
                              const RotaryAngles& angles) {
  const ProfileScope scope(pool_.profiler(), "rotate_backward", 2 * bytes_of({dx}));
  rotate_by(-1, dx, columns, positions, angles);
}

}  // namespace berth
