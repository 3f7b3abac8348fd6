#pragma once

#include <cassert>
#include <initializer_list>
#include <span>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/model/batch.h"
#include "trainer/model/update.h"

namespace berth {

// Makes fp32 tensors of one shape.
inline void make_all(Arena& arena, std::initializer_list<Tensor*> tensors,
                     std::initializer_list<int64_t> shape) {
  for (Tensor* tensor : tensors) *tensor = arena.make(DType::kF32, shape);
}

// A batch as the layers see it: its arrays as tensors. Absent arrays are null.
struct BatchTensors {
  Tensor input_ids{}, token_type_ids{}, position_ids{};  // [T]
  Tensor cu_seqlens{};                                   // [B+1]
  // The labels of the task. `labels` are classes [B], [T] or [M], or where answers start [B].
  // `targets` are scores [B], sets of classes [B,C], or vectors [B,C] or [T,C]. `ends` are where
  // answers end [B].
  Tensor labels{}, targets{}, ends{};
  Tensor teacher{};         // the teacher's logits [B,C]; null: there is no teacher
  Tensor text_vectors{};    // of another model [B,V]; null: there are none
  Tensor text_scores{};     // as in PackedBatch; null: there are none
  Tensor weights{};         // of the labels, [B], [T] or [M]; null: every label weighs 1
  Tensor masked{};          // [M], the rows of masked tokens
  Tensor next_sentences{};  // [B], the classes of a second loss
  // For heads that read the first token of each sequence and the masked tokens, R = B + M of them:
  // these tokens, which increase [R]; and the place in them of each masked token, and then of each
  // first token [R].
  Tensor first_and_masked{}, masked_then_first{};
  Tensor selected{};  // [R], the tokens whose last hidden states the head reads; null: all tokens
  int64_t num_tokens = 0, num_sequences = 0, num_masked = 0;
  int64_t sequences_per_example = 1;  // where it is not 1, labels and weights are of examples
  int64_t longest = 0;                // tokens of the longest sequence
  int32_t source = 0;                 // as in PackedBatch

  EmbeddingIds embedding_ids() const {
    return {.words = input_ids, .positions = position_ids, .types = token_type_ids};
  }
  bool labelled() const { return labels || targets; }
};

// The arguments of every layer's forward and backward pass, besides activations.
struct StepContext {
  const BatchTensors& batch;
  StepState& state;
  bool training = false;                      // dropout is on
  float label_smoothing = 0;                  // 0 in evaluation
  double focal_gamma = 0;                     // 0 in evaluation
  std::span<const float> positive_weights{};  // LossOptions' in training
  float second_weight = 1;                    // of each example of a second loss, in training
  DistillationLoss distillation{};
  // Backward of embeddings whose loss the caller has computed: their gradient [B,H].
  Tensor dembeddings{};

  Dropout dropout(double p, uint32_t site, DropoutRows rows = DropoutRows::kTokens) const {
    return {.p = training ? static_cast<float>(p) : 0.0f, .site = site, .rows = rows};
  }
  // For rows that are these tokens; null: all tokens.
  Dropout dropout(double p, uint32_t site, Tensor tokens) const {
    Dropout dropped = dropout(p, site);
    dropped.tokens = tokens;
    return dropped;
  }
};

// Memory that the passes of all layers share, as rows of bytes. Each view takes it for itself.
struct LayerScratch {
  Tensor hidden, second_hidden;  // for [T,H]
  Tensor wide, second_wide;      // for the widest of an operation

  Tensor hidden_as(int64_t rows, int64_t columns, DType dtype) const {
    return view(hidden, rows, columns, dtype);
  }
  Tensor second_hidden_as(int64_t rows, int64_t columns, DType dtype) const {
    return view(second_hidden, rows, columns, dtype);
  }
  Tensor wide_as(int64_t rows, int64_t columns, DType dtype) const {
    return view(wide, rows, columns, dtype);
  }
  Tensor second_wide_as(int64_t rows, int64_t columns, DType dtype) const {
    return view(second_wide, rows, columns, dtype);
  }

 private:
  static Tensor view(Tensor bytes, int64_t rows, int64_t columns, DType dtype) {
    const Tensor part{.data = bytes.data, .dtype = dtype, .rank = 2, .shape = {rows, columns, 0}};
    assert(part.size_bytes() <= bytes.size_bytes());
    return part;
  }
};

}  // namespace berth
