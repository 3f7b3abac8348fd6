#pragma once

#include "trainer/kernels/kernels.h"
#include "trainer/model/batch.h"

namespace berth {

// A batch as the layers see it: its arrays where the backend computes.
struct DeviceBatch {
  Tensor input_ids{}, token_type_ids{}, position_ids{};  // [T]
  Tensor cu_seqlens{};                                   // [B+1]
  Tensor labels{};  // [B], [T] or [M], as the task is; null: unlabelled
  Tensor masked{};  // [M], the rows of masked tokens
  int64_t num_tokens = 0, num_sequences = 0, num_masked = 0;
  int64_t longest = 0;  // tokens of the longest sequence
};

// What every layer's forward and backward are given besides their activations.
struct StepContext {
  const DeviceBatch& batch;
  StepState& state;
  bool training = false;  // dropout is on

  Dropout dropout(double p, uint32_t site, DropoutRows rows = DropoutRows::kTokens) const {
    return {.p = training ? static_cast<float>(p) : 0.0f, .site = site, .rows = rows};
  }
};

// Buffers that backward passes of all layers share, [tokens, size] each.
struct BackwardScratch {
  Tensor hidden, second_hidden;  // [T,H]
  Tensor wide;                   // [T,max(3H,F)], or more

  Tensor wide_as(int64_t tokens, int64_t columns) const {
    Tensor view = wide;
    view.shape = {tokens, columns, 0};
    return view;
  }
};

}  // namespace berth
