#include <algorithm>
#include <cassert>

#include "trainer/cpu/kernels/attention_head.h"

namespace berth {

// The backward pass needs more scratch memory than the forward pass: the scratch of
// AttentionHead::backward for each thread, and sums for the gradients of positions. If two threads
// share a head, each of them has sums of its own for that head.
size_t Kernels::scratch_bytes(const ScratchExtent& extent) const {
  const int64_t length = extent.longest, queries = std::min(kQueries, length);
  const int64_t rows = std::min(extent.positions, std::max<int64_t>(0, 2 * length - 1));
  const int64_t threads = pool_.size();
  const int64_t offsets = extent.bias_rows > 0 ? std::max<int64_t>(0, 2 * length - 1) : 0;
  const int64_t of_thread =
      queries * (2 * score_stride(length) + 1) + 2 * (length + queries) * rows + 2 * offsets;
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

}  // namespace berth
