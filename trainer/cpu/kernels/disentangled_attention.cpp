#include <functional>
#include <optional>

#include "trainer/cpu/kernels/attention_shape.h"
#include "trainer/cpu/kernels/dropout_draw.h"
#include "trainer/cpu/kernels/gemm.h"

namespace berth {
namespace {

constexpr int kTerms = 3;  // content to content, content to position, position to content

// Parts of a thread's scratch memory, one behind the other.
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

// The relative positions that a sequence of n tokens meets, as one head sees them: R rows of
// position_qk from `low` on.
struct RelativeView {
  RelativeView(const RelativeRows& relative, const AttentionShape& shape, const HeadView& view)
      : row_of(relative.rows.i32() + relative.longest() - 1),
        low(row_of[1 - view.length]),
        count(row_of[view.length - 1] - low + 1),
        stride(2 * shape.hidden),
        queries(relative.position_qk.f32() + low * stride + view.head * shape.head_size),
        keys(queries + shape.hidden) {}

  const int32_t* row_of;  // by distance, query minus key
  int64_t low, count, stride;
  const float *queries, *keys;  // [R,D], `stride` apart
};

// Visits every (query, key) of a block of queries with the places of their relative row:
// fn(score, c2p, p2c), places in scores [rows, stride], c2p [rows,R] and p2c [n,R].
template <typename Fn>
void for_pairs(const RelativeView& relative, int64_t begin, int64_t rows, int64_t keys,
               int64_t stride, const Fn& fn) {
  for (int64_t i = 0; i < rows; ++i) {
    const int32_t* row_of = relative.row_of + begin + i;
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t r = row_of[-j] - relative.low;
      fn(i * stride + j, i * relative.count + r, j * relative.count + r);
    }
  }
}

// Attention of one head inside one sequence.
class DisentangledHead {
 public:
  using Multiply = std::function<void(const Product&)>;

  DisentangledHead(const CpuLoops& loops, const Multiply& multiply, const AttentionShape& shape,
                   const HeadView& view, const RelativeRows& relative, Tensor qkv,
                   Tensor log_sum_exp, const std::optional<DropoutDraw>& draw)
      : loops_(loops),
        multiply_(multiply),
        shape_(shape),
        view_(view),
        relative_(relative, shape, view),
        draw_(draw),
        row_(3 * shape.hidden),
        stride_(score_stride(view.length)),
        at_(view.first * row_ + view.head * shape.head_size),
        q_(qkv.f32() + at_),
        k_(q_ + shape.hidden),
        v_(k_ + shape.hidden),
        log_sum_exp_(log_sum_exp.f32() + view.first * shape.heads + view.head) {}

  void forward(Tensor out, std::vector<float>& memory) const {
    const int64_t length = view_.length, most = std::min(kQueries, length);
    Scratch scratch(memory, length * relative_.count + most * (relative_.count + stride_));
    float* p2c = scratch.take(length * relative_.count);
    float* c2p = scratch.take(most * relative_.count);
    float* scores = scratch.take(most * stride_);
    position_to_content(p2c);
    for (int64_t begin = 0; begin < length; begin += kQueries) {
      const int64_t queries = std::min(kQueries, length - begin);
      compute_scores(begin, queries, p2c, c2p, scores);
      loops_.attention_softmax(scores, shape_.block(view_, queries, kTerms),
                               RowDraw(draw_, view_.first + begin).get(),
                               log_sum_exp_ + begin * shape_.heads, shape_.heads);
      multiply_({.m = queries,
                 .n = shape_.head_size,
                 .k = length,
                 .a = {scores, stride_},
                 .b = {v_, row_},
                 .c = rows_of(out, begin),
                 .c_stride = shape_.hidden});
    }
  }

  // Adds into dposition [P,2D]: this head's queries and keys of positions.
  void backward(Tensor dout, Tensor out, Tensor dqkv, float* dposition,
                std::vector<float>& memory) const {
    const int64_t length = view_.length, most = std::min(kQueries, length);
    const int64_t size = shape_.head_size, count = relative_.count;
    Scratch scratch(memory, 2 * (length + most) * count + most * (2 * stride_ + 1));
    float* p2c = scratch.take(length * count);
    float* dp2c = scratch.take(length * count);
    float* c2p = scratch.take(most * count);
    float* dc2p = scratch.take(most * count);
    float* scores = scratch.take(most * stride_);
    float* dscores = scratch.take(most * stride_);
    float* delta = scratch.take(most);
    float* dq = dqkv.f32() + at_;
    float* dk = dq + shape_.hidden;
    float* dv = dk + shape_.hidden;
    float* dposition_queries = dposition + relative_.low * 2 * size;
    float* dposition_keys = dposition_queries + size;

    position_to_content(p2c);
    std::fill_n(dp2c, length * count, 0.0f);
    for (int64_t begin = 0; begin < length; begin += kQueries) {
      const int64_t queries = std::min(kQueries, length - begin);
      const Factor q{q_ + begin * row_, row_}, douts{rows_of(dout, begin), shape_.hidden};
      for (int64_t i = 0; i < queries; ++i) {
        delta[i] = loops_.dot(douts.data + i * shape_.hidden, rows_of(out, begin + i), size);
      }
      compute_scores(begin, queries, p2c, c2p, scores);
      multiply_({.m = queries,
                 .n = length,
                 .k = size,
                 .a = douts,
                 .b = {v_, row_, true},
                 .c = dscores,
                 .c_stride = stride_});
      loops_.attention_softmax_backward(scores, dscores, shape_.block(view_, queries, kTerms),
                                        RowDraw(draw_, view_.first + begin).get(),
                                        log_sum_exp_ + begin * shape_.heads, shape_.heads, delta);
      std::fill_n(dc2p, queries * count, 0.0f);
      for_pairs(relative_, begin, queries, length, stride_,
                [=](int64_t score, int64_t of_query, int64_t of_key) {
                  dc2p[of_query] += dscores[score];
                  dp2c[of_key] += dscores[score];
                });
      const Factor p_transposed{scores, stride_, true}, ds_transposed{dscores, stride_, true};
      const bool add = begin > 0;
      accumulate(length, queries, p_transposed, douts, dv, row_, add);
      accumulate(length, queries, ds_transposed, q, dk, row_, add);
      accumulate(queries, length, {dscores, stride_}, {k_, row_}, dq + begin * row_, row_, false);
      accumulate(queries, count, {dc2p, count}, {relative_.keys, relative_.stride},
                 dq + begin * row_, row_, true);
      accumulate(count, queries, {dc2p, count, true}, q, dposition_keys, 2 * size, true);
    }
    accumulate(length, count, {dp2c, count}, {relative_.queries, relative_.stride}, dk, row_, true);
    accumulate(count, length, {dp2c, count, true}, {k_, row_}, dposition_queries, 2 * size, true);
  }

 private:
  float* rows_of(Tensor x, int64_t begin) const {
    return x.f32() + (view_.first + begin) * shape_.hidden + view_.head * shape_.head_size;
  }
  // c [m,D] = a [m,k] b [k,D], or that added to it.
  void accumulate(int64_t m, int64_t k, Factor a, Factor b, float* c, int64_t c_stride,
                  bool add) const {
    multiply_({.m = m,
               .n = shape_.head_size,
               .k = k,
               .a = a,
               .b = b,
               .c = c,
               .c_stride = c_stride,
               .add = add});
  }
  // c [m,n] = a [m,D] b [n,D]^T.
  void products(int64_t m, int64_t n, Factor a, Factor b, float* c, int64_t c_stride) const {
    b.transposed = true;
    multiply_(
        {.m = m, .n = n, .k = shape_.head_size, .a = a, .b = b, .c = c, .c_stride = c_stride});
  }

  void position_to_content(float* p2c) const {
    products(view_.length, relative_.count, {k_, row_}, {relative_.queries, relative_.stride}, p2c,
             relative_.count);
  }
  // Those of queries [begin, begin + queries); c2p is scratch.
  void compute_scores(int64_t begin, int64_t queries, const float* p2c, float* c2p,
                      float* scores) const {
    const Factor q{q_ + begin * row_, row_};
    products(queries, view_.length, q, {k_, row_}, scores, stride_);
    products(queries, relative_.count, q, {relative_.keys, relative_.stride}, c2p, relative_.count);
    for_pairs(relative_, begin, queries, view_.length, stride_,
              [=](int64_t score, int64_t of_query, int64_t of_key) {
                scores[score] += c2p[of_query] + p2c[of_key];
              });
  }

  const CpuLoops& loops_;
  const Multiply& multiply_;
  const AttentionShape& shape_;
  const HeadView view_;
  const RelativeView relative_;
  const std::optional<DropoutDraw>& draw_;
  const int64_t row_, stride_, at_;
  const float *q_, *k_, *v_;
  float* log_sum_exp_;
};

}  // namespace

void Kernels::disentangled_attention_forward(Tensor qkv, const RelativeRows& relative,
                                             Tensor cu_seqlens, int num_heads, Dropout dropout,
                                             const StepState& state, Tensor out,
                                             Tensor log_sum_exp) {
  const AttentionShape shape(qkv.columns() / 3, cu_seqlens, num_heads, pool_.size());
  const std::optional<DropoutDraw> draw = draw_of(dropout, state);
  scratch_.resize(static_cast<size_t>(pool_.size()));
  parallel(pool_.size(), 1, [&](int64_t begin, int64_t end, int thread) {
    const DisentangledHead::Multiply multiply = [&](const Product& product) {
      multiply_alone(product, thread);
    };
    for (int64_t part = begin; part < end; ++part) {
      shape.for_part(part, [&](const HeadView& view) {
        assert(view.length <= relative.longest());
        DisentangledHead(loops_, multiply, shape, view, relative, qkv, log_sum_exp, draw)
            .forward(out, scratch_[static_cast<size_t>(thread)]);
      });
    }
  });
}

// A part of the pairs meets few heads, and sums the gradients of their positions by itself.
void Kernels::disentangled_attention_backward(Tensor dout, Tensor qkv, const RelativeRows& relative,
                                              Tensor out, Tensor log_sum_exp, Tensor cu_seqlens,
                                              int num_heads, Dropout dropout,
                                              const StepState& state, Tensor dqkv,
                                              Tensor dposition_qk) {
  const AttentionShape shape(qkv.columns() / 3, cu_seqlens, num_heads, pool_.size(),
                             AttentionShape::Order::kByHeads);
  const std::optional<DropoutDraw> draw = draw_of(dropout, state);
  const int64_t size = shape.head_size, positions = relative.position_qk.rows();
  const auto parts = static_cast<size_t>(pool_.size());
  scratch_.resize(parts);
  position_sums_.resize(parts);
  const auto first_head = [&](int64_t part) {
    return shape.begin_of(part) / std::max<int64_t>(1, shape.sequences);
  };
  const auto end_head = [&](int64_t part) {  // none where the part is empty
    return shape.begin_of(part) == shape.end_of(part)
               ? first_head(part)
               : (shape.end_of(part) - 1) / shape.sequences + 1;
  };
  parallel(pool_.size(), 1, [&](int64_t begin, int64_t end, int thread) {
    const DisentangledHead::Multiply multiply = [&](const Product& product) {
      multiply_alone(product, thread);
    };
    for (int64_t part = begin; part < end; ++part) {
      std::vector<float>& sums = position_sums_[static_cast<size_t>(part)];
      const int64_t heads = end_head(part) - first_head(part);
      sums.assign(static_cast<size_t>(heads * positions * 2 * size), 0.0f);
      shape.for_part(part, [&](const HeadView& view) {
        DisentangledHead(loops_, multiply, shape, view, relative, qkv, log_sum_exp, draw)
            .backward(dout, out, dqkv,
                      sums.data() + (view.head - first_head(part)) * positions * 2 * size,
                      scratch_[static_cast<size_t>(thread)]);
      });
    }
  });
  parallel(positions, row_grain(2 * shape.hidden), [&](int64_t begin, int64_t end, int) {
    for (int64_t p = begin; p < end; ++p) {
      float* row = dposition_qk.f32() + p * 2 * shape.hidden;
      std::fill_n(row, 2 * shape.hidden, 0.0f);
      for (int64_t part = 0; part < pool_.size(); ++part) {
        const float* sums = position_sums_[static_cast<size_t>(part)].data() + p * 2 * size;
        for (int64_t head = first_head(part); head < end_head(part); ++head) {
          loops_.add(sums, row + head * size, size);
          loops_.add(sums + size, row + shape.hidden + head * size, size);
          sums += positions * 2 * size;
        }
      }
    }
  });
}

}  // namespace berth
