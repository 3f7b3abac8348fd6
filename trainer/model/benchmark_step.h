#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trainer/model/batch.h"
#include "trainer/model/config.h"

namespace berth {

// The configuration of a BERT for two classes. The size is tiny (2 layers of 128), mini-lm (6 of
// 384), base or large; any other name throws kUsage.
ModelConfig bert_of_size(std::string_view name);

// Batches of random tokens, by which training steps are measured. The same arguments always give
// the same batch.
struct RandomBatch {
  int64_t sequences = 0;
  // A number of tokens, or a name of recorded lengths. "news": AG News' texts (mean 47), spread
  // evenly over the batch. "drawn": the same lengths, drawn at random. "documents": mixed documents
  // that are cut to 512 tokens.
  std::string length{};
  uint64_t number = 0;  // Each batch of a series has other lengths, where they are drawn.
};

// For a classifier, or for a masked language model: then 15 % of the tokens are masked. The
// sequences need no more positions than the model has. A length that is no number throws kUsage.
PackedBatch make_random_batch(const RandomBatch& batch, const ModelConfig& config);

}  // namespace berth
