#include "trainer/cpu/kernels/attention_shape.h"
#include "trainer/cpu/kernels/dropout_draw.h"
#include "trainer/cpu/kernels/gemm.h"

namespace berth {

// Where the first head's queries, keys and values lie.
struct AttentionInputs {
  const float *q, *k, *v;
  int64_t q_stride, kv_stride;
};

// Laid out as they.
struct AttentionGradients {
  float *dq, *dk, *dv;
};

namespace {

AttentionInputs joined(Tensor qkv, int64_t hidden) {
  const float* const q = qkv.f32();
  return {q, q + hidden, q + 2 * hidden, 3 * hidden, 3 * hidden};
}

AttentionInputs apart(Tensor q, Tensor kv, int64_t hidden) {
  return {q.f32(), kv.f32(), kv.f32() + hidden, hidden, 2 * hidden};
}

}  // namespace

// As the backward passes, the larger ones, resize theirs.
size_t Kernels::scratch_bytes(const AttentionExtent& extent) const {
  const int64_t length = extent.longest, queries = std::min(kQueries, length);
  const int64_t rows = std::min(extent.positions, std::max<int64_t>(0, 2 * length - 1));
  const int64_t threads = pool_.size();
  const int64_t of_thread =
      queries * (2 * score_stride(length) + 1) + 2 * (length + queries) * rows;
  // A head that two threads share is summed by both.
  const int64_t sums = (extent.heads + threads - 1) * extent.positions * 2 * extent.head_size;
  return static_cast<size_t>(threads * of_thread + sums) * sizeof(float) +
         (bf16_ ? bf16_->scratch_bytes() : 0);
}

void Kernels::attend(const AttentionShape& shape, const AttentionInputs& inputs,
                     const std::optional<DropoutDraw>& draw, Tensor out, Tensor log_sum_exp) {
  const int64_t q_stride = inputs.q_stride, kv_stride = inputs.kv_stride;
  scratch_.resize(static_cast<size_t>(pool_.size()));
  const auto attend_head = [&](const HeadView& view, int thread) {
    std::vector<float>& scratch = scratch_[static_cast<size_t>(thread)];
    const auto multiply = [&](const Product& product) { multiply_alone(product, thread); };
    const int64_t column = view.head * shape.head_size;
    const float* k = inputs.k + view.first * kv_stride + column;
    const float* v = inputs.v + view.first * kv_stride + column;
    const int64_t stride = score_stride(view.length);
    for (int64_t begin = 0; begin < view.queries; begin += kQueries) {
      const int64_t queries = std::min(kQueries, view.queries - begin);
      if (scratch.size() < static_cast<size_t>(queries * stride)) {
        scratch.resize(static_cast<size_t>(queries * stride));
      }
      float* scores = scratch.data();
      const int64_t row = view.first_query + begin;
      multiply({.m = queries,
                .n = view.length,
                .k = shape.head_size,
                .a = {inputs.q + row * q_stride + column, q_stride},
                .b = {k, kv_stride, true},
                .c = scores,
                .c_stride = stride});
      loops_.attention_softmax(scores, shape.block(view, queries), RowDraw(draw, row).get(),
                               log_sum_exp.f32() + row * shape.heads + view.head, shape.heads);
      multiply({.m = queries,
                .n = shape.head_size,
                .k = view.length,
                .a = {scores, stride},
                .b = {v, kv_stride},
                .c = out.f32() + row * shape.hidden + column,
                .c_stride = shape.hidden});
    }
  };
  parallel(pool_.size(), 1, [&](int64_t begin, int64_t end, int thread) {
    for (int64_t part = begin; part < end; ++part) {
      shape.for_part(part, [&](const HeadView& view) { attend_head(view, thread); });
    }
  });
}

void Kernels::attend_backward(const AttentionShape& shape, const AttentionInputs& inputs,
                              const std::optional<DropoutDraw>& draw, Tensor dout, Tensor out,
                              Tensor log_sum_exp, const AttentionGradients& gradients) {
  const int64_t q_stride = inputs.q_stride, kv_stride = inputs.kv_stride, size = shape.head_size;
  scratch_.resize(static_cast<size_t>(pool_.size()));
  const auto attend_head = [&](const HeadView& view, int thread) {
    std::vector<float>& scratch = scratch_[static_cast<size_t>(thread)];
    const auto multiply = [&](const Product& product) { multiply_alone(product, thread); };
    const int64_t column = view.head * size, keys_at = view.first * kv_stride + column;
    const float* k = inputs.k + keys_at;
    const float* v = inputs.v + keys_at;
    float* dk = gradients.dk + keys_at;
    float* dv = gradients.dv + keys_at;
    const int64_t length = view.length, stride = score_stride(length);
    for (int64_t i = 0; view.queries == 0 && i < length; ++i) {
      std::fill_n(dk + i * kv_stride, size, 0.0f);
      std::fill_n(dv + i * kv_stride, size, 0.0f);
    }
    for (int64_t begin = 0; begin < view.queries; begin += kQueries) {
      const int64_t queries = std::min(kQueries, view.queries - begin);
      const auto needed = static_cast<size_t>(queries * (2 * stride + 1));
      if (scratch.size() < needed) scratch.resize(needed);
      float* scores = scratch.data();
      float* dscores = scores + queries * stride;
      float* delta = dscores + queries * stride;
      const int64_t row = view.first_query + begin, queries_at = row * q_stride + column;
      const float* out_rows = out.f32() + row * shape.hidden + column;
      const float* dout_rows = dout.f32() + row * shape.hidden + column;
      for (int64_t i = 0; i < queries; ++i) {
        delta[i] = loops_.dot(dout_rows + i * shape.hidden, out_rows + i * shape.hidden, size);
      }
      const Factor queries_factor{inputs.q + queries_at, q_stride};
      const Factor dout_factor{dout_rows, shape.hidden};
      multiply({.m = queries,
                .n = length,
                .k = size,
                .a = queries_factor,
                .b = {k, kv_stride, true},
                .c = scores,
                .c_stride = stride});
      multiply({.m = queries,
                .n = length,
                .k = size,
                .a = dout_factor,
                .b = {v, kv_stride, true},
                .c = dscores,
                .c_stride = stride});
      loops_.attention_softmax_backward(
          scores, dscores, shape.block(view, queries), RowDraw(draw, row).get(),
          log_sum_exp.f32() + row * shape.heads + view.head, shape.heads, delta);
      multiply({.m = length,
                .n = size,
                .k = queries,
                .a = {scores, stride, true},
                .b = dout_factor,
                .c = dv,
                .c_stride = kv_stride,
                .add = begin > 0});
      multiply({.m = length,
                .n = size,
                .k = queries,
                .a = {dscores, stride, true},
                .b = queries_factor,
                .c = dk,
                .c_stride = kv_stride,
                .add = begin > 0});
      multiply({.m = queries,
                .n = size,
                .k = length,
                .a = {dscores, stride},
                .b = {k, kv_stride},
                .c = gradients.dq + queries_at,
                .c_stride = q_stride});
    }
  };
  parallel(pool_.size(), 1, [&](int64_t begin, int64_t end, int thread) {
    for (int64_t part = begin; part < end; ++part) {
      shape.for_part(part, [&](const HeadView& view) { attend_head(view, thread); });
    }
  });
}

void Kernels::attention_forward(Tensor qkv, Tensor cu_seqlens, int num_heads, Dropout dropout,
                                const StepState& state, Tensor out, Tensor log_sum_exp) {
  const AttentionShape shape(out.columns(), cu_seqlens, num_heads, pool_.size());
  attend(shape, joined(qkv, shape.hidden), draw_of(dropout, state), out, log_sum_exp);
}

void Kernels::attention_backward(Tensor dout, Tensor qkv, Tensor out, Tensor log_sum_exp,
                                 Tensor cu_seqlens, int num_heads, Dropout dropout,
                                 const StepState& state, Tensor dqkv) {
  const AttentionShape shape(out.columns(), cu_seqlens, num_heads, pool_.size());
  float* const dq = dqkv.f32();
  attend_backward(shape, joined(qkv, shape.hidden), draw_of(dropout, state), dout, out, log_sum_exp,
                  {dq, dq + shape.hidden, dq + 2 * shape.hidden});
}

void Kernels::picked_attention_forward(Tensor q, Tensor kv, Tensor picked, Tensor cu_seqlens,
                                       int num_heads, Dropout dropout, const StepState& state,
                                       Tensor out, Tensor log_sum_exp) {
  const AttentionShape shape(out.columns(), cu_seqlens, num_heads, pool_.size(),
                             AttentionShape::Order::kBySequences, picked);
  attend(shape, apart(q, kv, shape.hidden), draw_of(dropout, state), out, log_sum_exp);
}

void Kernels::picked_attention_backward(Tensor dout, Tensor q, Tensor kv, Tensor picked, Tensor out,
                                        Tensor log_sum_exp, Tensor cu_seqlens, int num_heads,
                                        Dropout dropout, const StepState& state, Tensor dq,
                                        Tensor dkv) {
  const AttentionShape shape(out.columns(), cu_seqlens, num_heads, pool_.size(),
                             AttentionShape::Order::kBySequences, picked);
  attend_backward(shape, apart(q, kv, shape.hidden), draw_of(dropout, state), dout, out,
                  log_sum_exp, {dq.f32(), dkv.f32(), dkv.f32() + shape.hidden});
}

}  // namespace berth
