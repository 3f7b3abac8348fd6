#pragma once

#include <cstdint>

#include "trainer/model/batch.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"

namespace berth {

// The floating-point operations of training, counted as for the model FLOPs utilization (Chowdhery
// et al. 2022, arXiv:2204.02311, appendix B): the matrix products that the mathematics of the model
// needs. A multiply-add counts as two. A product counts once for the forward pass, and once each
// for the gradients of its input and of its parameter, if these are needed. Other work of an engine
// does not count: padding, and activations that it computes again.
struct TrainingFlops {
  double of_token = 0;           // products with parameters
  double of_squared_length = 0;  // attention: for each pair of tokens of a sequence
  double of_local_pair = 0;      // local attention: for each pair of tokens within the window
  int64_t window = 0;
  double of_sequence = 0;      // the head, if it reads first tokens
  double of_masked_token = 0;  // the head, if it reads masked tokens

  double of(const PackedBatch& batch) const;
};

// Where parameters of a smaller depth than `first_depth` do not train (parameter_table.h), their
// layers have forward passes only.
TrainingFlops training_flops(const ModelConfig& config, const LoraOptions& lora = {},
                             int64_t first_depth = 0);

}  // namespace berth
