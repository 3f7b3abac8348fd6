#pragma once

#include "trainer/xla/network/losses.h"

// The losses of examples of several sequences, as the CPU's kernels compute them. All replicas
// together have E examples of G sequences each. Some are padding, and have weight 0.
namespace berth {

// Throws kUsage where the config's loss of texts that are compared is not written here.
void require_known_loss(const ModelConfig& config);

// Of embeddings [E*G,H]: the loss that ModelConfig::similarity names.
Loss similarity_loss(const ForwardPass& pass, Value embeddings);
// What inference gives of them: [E,1], the cosine of the two texts of an example, and behind it the
// cosines of shorter embeddings, for each of shorter_sizes(). For in-batch negatives [E,2]: the
// cosine of the first two texts, and 1 where no other text has a larger one.
Value compared(const ForwardPass& pass, Value embeddings);

// Of the logits of labelled pairs [B,1], or of the passages of rows [E,G], of which the first one
// is right. The labels [E,G] are a teacher's scores, where the loss learns them.
Loss reranking_loss(const ForwardPass& pass, Value logits);

}  // namespace berth
