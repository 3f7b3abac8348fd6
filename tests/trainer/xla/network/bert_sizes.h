#pragma once

#include "trainer/model/config.h"

// BERT (Devlin et al. 2018, arXiv:1810.04805) in two published sizes, with two classes.
namespace berth {

inline ModelConfig bert_of(Task task, int64_t layers, int64_t hidden_size) {
  return {.task = task,
          .vocab_size = 30522,
          .hidden_size = hidden_size,
          .num_hidden_layers = layers,
          .num_attention_heads = hidden_size / 64,
          .intermediate_size = 4 * hidden_size,
          .max_position_embeddings = 512,
          .labels = {"a", "b"}};
}
inline ModelConfig bert_tiny(Task task) { return bert_of(task, 2, 128); }
inline ModelConfig bert_base(Task task) { return bert_of(task, 12, 768); }

}  // namespace berth
