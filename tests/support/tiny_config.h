#pragma once

#include "trainer/model/config.h"

namespace berth {

// The smallest BERT that has every part of a large one, with dropout.
inline ModelConfig tiny_config(int64_t num_labels = 2) {
  ModelConfig config{.vocab_size = 32,
                     .hidden_size = 8,
                     .num_hidden_layers = 1,
                     .num_attention_heads = 2,
                     .intermediate_size = 12,
                     .max_position_embeddings = 16,
                     .initializer_range = 0.2};
  for (int64_t id = 0; id < num_labels; ++id) {
    config.labels.push_back(std::string(1, static_cast<char>('a' + id)));
  }
  return config;
}

}  // namespace berth
