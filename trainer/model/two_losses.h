#pragma once

#include <span>
#include <vector>

#include "trainer/model/batch.h"
#include "trainer/model/config.h"

// What engines share of the tasks whose loss is the sum of two means: of masked tokens and
// sequences (HeadRows::kMaskedAndFirst), or of masked tokens and all tokens (kReplaced).
namespace berth {

// The sums of the weights of both means over these micro-batches. Sums of several ranks can be
// added. Empty: the task has one mean.
std::vector<double> loss_weights(const ModelConfig& config,
                                 std::span<const PackedBatch> micro_batches);

// The factor of each loss of the second mean if all losses of an update are one sum, which is
// divided by the first weight: `weight` times the second mean is added to the first mean.
double second_factor(std::span<const double> loss_weights, double weight = 1);

// The weight of every token [T]: of its sequence's masked tokens, or 1 if there are none.
std::vector<float> token_weights(const PackedBatch& batch);

}  // namespace berth
