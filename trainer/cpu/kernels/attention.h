#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "trainer/cpu/kernels/arguments.h"
#include "trainer/cpu/kernels/dropout.h"
#include "trainer/cpu/kernels/gemm.h"
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

// Pointers to the first query, key and value of one head's sequence, or to their gradients.
template <typename Float>
struct AttentionRows {
  Float *q, *k, *v;
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

  template <typename Float, typename View>
  AttentionRows<Float> rows_of(View qkv, View q) const;
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
  void backward_of_block(const Block& block, const Kept& kept,
                         const AttentionRows<float>& gradients, float* sums) const;
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
  const AttentionRows<const float> rows_;
};

}  // namespace berth
