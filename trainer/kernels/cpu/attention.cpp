#include "trainer/kernels/cpu/attention_shape.h"
#include "trainer/kernels/cpu/cpu_backend.h"
#include "trainer/kernels/cpu/gemm.h"

namespace berth {

// As the backward passes, the larger ones, resize theirs.
size_t CpuBackend::scratch_bytes(const AttentionExtent& extent) const {
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

void CpuBackend::attention_forward(Tensor qkv, Tensor cu_seqlens, int num_heads, Dropout dropout,
                                   const StepState& state, Tensor out, Tensor log_sum_exp) {
  const AttentionShape shape(qkv, cu_seqlens, num_heads, pool_.size());
  const std::optional<DropoutDraw> draw = draw_of(dropout, state);
  const int64_t row = 3 * shape.hidden;
  scratch_.resize(static_cast<size_t>(pool_.size()));
  const auto attend = [&](const HeadView& view, int thread) {
    std::vector<float>& scratch = scratch_[static_cast<size_t>(thread)];
    const auto multiply = [&](const Product& product) { multiply_alone(product, thread); };
    const float* q = qkv.f32() + view.first * row + view.head * shape.head_size;
    const float* k = q + shape.hidden;
    const float* v = k + shape.hidden;
    const int64_t stride = score_stride(view.length);
    for (int64_t begin = 0; begin < view.length; begin += kQueries) {
      const int64_t queries = std::min(kQueries, view.length - begin);
      if (scratch.size() < static_cast<size_t>(queries * stride)) {
        scratch.resize(static_cast<size_t>(queries * stride));
      }
      float* scores = scratch.data();
      multiply({.m = queries,
                .n = view.length,
                .k = shape.head_size,
                .a = {q + begin * row, row},
                .b = {k, row, true},
                .c = scores,
                .c_stride = stride});
      const int64_t token = view.first + begin;
      loops_.attention_softmax(scores, shape.block(view, queries), RowDraw(draw, token).get(),
                               log_sum_exp.f32() + token * shape.heads + view.head, shape.heads);
      multiply({.m = queries,
                .n = shape.head_size,
                .k = view.length,
                .a = {scores, stride},
                .b = {v, row},
                .c = out.f32() + token * shape.hidden + view.head * shape.head_size,
                .c_stride = shape.hidden});
    }
  };
  parallel(pool_.size(), 1, [&](int64_t begin, int64_t end, int thread) {
    for (int64_t part = begin; part < end; ++part) {
      shape.for_part(part, [&](const HeadView& view) { attend(view, thread); });
    }
  });
}

void CpuBackend::attention_backward(Tensor dout, Tensor qkv, Tensor out, Tensor log_sum_exp,
                                    Tensor cu_seqlens, int num_heads, Dropout dropout,
                                    const StepState& state, Tensor dqkv) {
  const AttentionShape shape(qkv, cu_seqlens, num_heads, pool_.size());
  const std::optional<DropoutDraw> draw = draw_of(dropout, state);
  const int64_t row = 3 * shape.hidden, size = shape.head_size;
  scratch_.resize(static_cast<size_t>(pool_.size()));
  const auto attend = [&](const HeadView& view, int thread) {
    std::vector<float>& scratch = scratch_[static_cast<size_t>(thread)];
    const auto multiply = [&](const Product& product) { multiply_alone(product, thread); };
    const int64_t at = view.first * row + view.head * size;
    const float* q = qkv.f32() + at;
    const float* k = q + shape.hidden;
    const float* v = k + shape.hidden;
    float* dq = dqkv.f32() + at;
    float* dk = dq + shape.hidden;
    float* dv = dk + shape.hidden;
    const int64_t length = view.length, stride = score_stride(length);
    for (int64_t begin = 0; begin < length; begin += kQueries) {
      const int64_t queries = std::min(kQueries, length - begin);
      const auto needed = static_cast<size_t>(queries * (2 * stride + 1));
      if (scratch.size() < needed) scratch.resize(needed);
      float* scores = scratch.data();
      float* dscores = scores + queries * stride;
      float* delta = dscores + queries * stride;
      const int64_t token = view.first + begin;
      const float* out_rows = out.f32() + token * shape.hidden + view.head * size;
      const float* dout_rows = dout.f32() + token * shape.hidden + view.head * size;
      for (int64_t i = 0; i < queries; ++i) {
        delta[i] = loops_.dot(dout_rows + i * shape.hidden, out_rows + i * shape.hidden, size);
      }
      const Factor queries_factor{q + begin * row, row}, dout_factor{dout_rows, shape.hidden};
      multiply({.m = queries,
                .n = length,
                .k = size,
                .a = queries_factor,
                .b = {k, row, true},
                .c = scores,
                .c_stride = stride});
      multiply({.m = queries,
                .n = length,
                .k = size,
                .a = dout_factor,
                .b = {v, row, true},
                .c = dscores,
                .c_stride = stride});
      loops_.attention_softmax_backward(
          scores, dscores, shape.block(view, queries), RowDraw(draw, token).get(),
          log_sum_exp.f32() + token * shape.heads + view.head, shape.heads, delta);
      multiply({.m = length,
                .n = size,
                .k = queries,
                .a = {scores, stride, true},
                .b = dout_factor,
                .c = dv,
                .c_stride = row,
                .add = begin > 0});
      multiply({.m = length,
                .n = size,
                .k = queries,
                .a = {dscores, stride, true},
                .b = queries_factor,
                .c = dk,
                .c_stride = row,
                .add = begin > 0});
      multiply({.m = queries,
                .n = size,
                .k = length,
                .a = {dscores, stride},
                .b = {k, row},
                .c = dq + begin * row,
                .c_stride = row});
    }
  };
  parallel(pool_.size(), 1, [&](int64_t begin, int64_t end, int thread) {
    for (int64_t part = begin; part < end; ++part) {
      shape.for_part(part, [&](const HeadView& view) { attend(view, thread); });
    }
  });
}

}  // namespace berth
