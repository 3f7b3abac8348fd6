#include "trainer/cpu/kernels/attention_head.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace berth {
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
      rows_(rows_of<const float>(inputs.qkv, inputs.q)) {
  assert(inputs.window < 0 || (!inputs.relative && !inputs.bias && !inputs.selected));
  assert(!inputs.bias || (!inputs.relative && view.length <= inputs.bias.longest()));
}

template <typename Float, typename View>
AttentionRows<Float> AttentionHead::rows_of(View qkv, View q) const {
  const int64_t hidden = pairs_.hidden, column = view_.head * pairs_.head_size;
  const int64_t kv_stride = qkv.columns(), q_stride = q ? hidden : kv_stride;
  Float* const values = qkv.f32() + view_.first * kv_stride + kv_stride - hidden + column;
  Float* const queries = q ? q.f32() : qkv.f32();
  return {.q = queries + view_.first_query * q_stride + column,
          .k = values - hidden,
          .v = values,
          .q_stride = q_stride,
          .kv_stride = kv_stride};
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
  Scratch scratch(memory, (length + most) * count + most * stride_ + offsets);
  Block block{.begin = 0,
              .queries = 0,
              .scores = nullptr,
              .c2p = scratch.take(most * count),
              .p2c = scratch.take(length * count)};
  block.scores = scratch.take(most * stride_);
  if (inputs_.bias) biases_by_offset(block.bias = scratch.take(offsets));
  if (relative_) position_to_content(block.p2c);
  for (; block.begin < view_.queries; block.begin += kQueries) {
    block.queries = std::min(kQueries, view_.queries - block.begin);
    compute_scores(block);
    loops_.attention_softmax(block.scores, score_block(block),
                             RowDraw(draw_, view_.first_query + block.begin).get(),
                             log_sum_exp.f32() + log_at(block.begin), pairs_.heads);
    const Keys keys = keys_of(block);
    accumulate(block.queries, keys.count, {block.scores, stride_},
               {rows_.v + keys.first * rows_.kv_stride, rows_.kv_stride},
               out.f32() + at(block.begin), pairs_.hidden, false);
  }
}

void AttentionHead::backward(const Kept& kept, const AttentionGradients& gradients, float* sums,
                             std::vector<float>& memory) const {
  const int64_t length = view_.length, most = std::min(kQueries, view_.queries);
  const int64_t size = pairs_.head_size, count = relative_ ? relative_->count : 0;
  const AttentionRows<float> d = rows_of<float>(gradients.dqkv, gradients.dq);
  // Blocks with windows add to the gradients of some keys, and the others overwrite all.
  const bool starts_from_zero = view_.queries == 0 || inputs_.window >= 0;
  for (int64_t j = 0; starts_from_zero && j < length; ++j) {
    std::fill_n(d.k + j * d.kv_stride, size, 0.0f);
    std::fill_n(d.v + j * d.kv_stride, size, 0.0f);
  }
  if (view_.queries == 0) return;

  const int64_t offsets = inputs_.bias ? 2 * length - 1 : 0;
  Scratch scratch(memory, 2 * (length + most) * count + most * (2 * stride_ + 1) + 2 * offsets);
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
  if (inputs_.bias) {
    biases_by_offset(block.bias = scratch.take(offsets));
    block.dbias = scratch.take(offsets);
    std::fill_n(block.dbias, offsets, 0.0f);
  }
  if (relative_) position_to_content(block.p2c);
  std::fill_n(block.dp2c, length * count, 0.0f);
  for (; block.begin < view_.queries; block.begin += kQueries) {
    block.queries = std::min(kQueries, view_.queries - block.begin);
    backward_of_block(block, kept, d, sums);
  }
  if (sums != nullptr) {
    for (int64_t i = 0; i < offsets; ++i) sums[bias_row(i)] += block.dbias[i] / scale();
  }
  if (!relative_) return;
  accumulate(length, count, {block.dp2c, count}, {relative_->queries, relative_->stride}, d.k,
             d.kv_stride, true);
  accumulate(count, length, {block.dp2c, count, true}, {rows_.k, rows_.kv_stride},
             sums + relative_->low * 2 * size, 2 * size, true);
}

void AttentionHead::backward_of_block(const Block& block, const Kept& kept,
                                      const AttentionRows<float>& d, float* sums) const {
  const int64_t queries = block.queries, begin = block.begin;
  const auto [first, count] = keys_of(block);
  const int64_t kv_stride = rows_.kv_stride;
  const Factor q{rows_.q + begin * rows_.q_stride, rows_.q_stride};
  const Factor dout{kept.dout.f32() + at(begin), pairs_.hidden};
  const float* const out = kept.out.f32() + at(begin);
  for (int64_t i = 0; i < queries; ++i) {
    block.delta[i] =
        loops_.dot(dout.data + i * pairs_.hidden, out + i * pairs_.hidden, pairs_.head_size);
  }
  compute_scores(block);
  dot_products(queries, count, dout, {rows_.v + first * kv_stride, kv_stride}, block.dscores,
               stride_);
  loops_.attention_softmax_backward(block.scores, block.dscores, score_block(block),
                                    RowDraw(draw_, view_.first_query + begin).get(),
                                    kept.log_sum_exp.f32() + log_at(begin), pairs_.heads,
                                    block.delta);
  float* const dq = d.q + begin * d.q_stride;
  const bool add = begin > 0 || inputs_.window >= 0;
  accumulate(count, queries, {block.scores, stride_, true}, dout, d.v + first * d.kv_stride,
             d.kv_stride, add);
  accumulate(count, queries, {block.dscores, stride_, true}, q, d.k + first * d.kv_stride,
             d.kv_stride, add);
  accumulate(queries, count, {block.dscores, stride_}, {rows_.k + first * kv_stride, kv_stride}, dq,
             d.q_stride, false);
  if (relative_) backward_through_positions(block, dq, d.q_stride, sums);
  for (int64_t i = 0; inputs_.bias && i < queries; ++i) {
    loops_.add(block.dscores + i * stride_, block.dbias + view_.length - 1 - place_of(block, i),
               count);
  }
}

void AttentionHead::backward_through_positions(const Block& block, float* dq, int64_t dq_stride,
                                               float* sums) const {
  const int64_t count = relative_->count, size = pairs_.head_size;
  const Factor q{rows_.q + block.begin * rows_.q_stride, rows_.q_stride};
  std::fill_n(block.dc2p, block.queries * count, 0.0f);
  for_pairs(block, [&block](int64_t score, int64_t of_query, int64_t of_key) {
    block.dc2p[of_query] += block.dscores[score];
    block.dp2c[of_key] += block.dscores[score];
  });
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
  dot_products(view_.length, relative_->count, {rows_.k, rows_.kv_stride},
               {relative_->queries, relative_->stride}, p2c, relative_->count);
}

void AttentionHead::compute_scores(const Block& block) const {
  const Factor q{rows_.q + block.begin * rows_.q_stride, rows_.q_stride};
  const Keys keys = keys_of(block);
  dot_products(block.queries, keys.count, q,
               {rows_.k + keys.first * rows_.kv_stride, rows_.kv_stride}, block.scores, stride_);
  if (inputs_.window >= 0) close_windows(block);
  for (int64_t i = 0; inputs_.bias && i < block.queries; ++i) {
    loops_.add(block.bias + view_.length - 1 - place_of(block, i), block.scores + i * stride_,
               view_.length);
  }
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

}  // namespace berth
