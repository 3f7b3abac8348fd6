#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/model/batch.h"
#include "trainer/model/update.h"

// What engines share of pre-training by replaced-token detection (Clark et al. 2020,
// arXiv:2003.10555): the random numbers of the generator, and the discriminator's batches.
namespace berth {

// The inputs of an update for its generator, which draws other dropout masks than the
// discriminator.
UpdateInputs generator_inputs(UpdateInputs inputs);

// The key of the numbers by which a generator draws ids: of an update, with inputs from
// generator_inputs(), or of evaluations, where the draws are always the same.
using SamplingKey = std::array<uint32_t, 2>;
SamplingKey sampling_key(const UpdateInputs& of_generator);
SamplingKey evaluation_sampling_key();
// The number for a token of the update or the data set, from 0 to 1, without 1. The id that is
// drawn is the first one up to which the probabilities sum to more than it.
double sampling_number(const SamplingKey& key, uint64_t token);

// The discriminator's batch: `drawn` [M] are the ids that take the place of the batch's masked
// tokens; -1 for tokens without a label, which stay. The labels are 1 for each token that another
// id replaced. The weights of tokens are multiplied by `scale`.
PackedBatch replaced_batch(const PackedBatch& batch, std::span<const int32_t> drawn, double scale);

// What Engine::infer() gives, [T,4]: of the discriminator's batch with its logits [T], and of the
// masked tokens with the generator's losses and ids [M,2].
std::vector<float> detection_outputs(const PackedBatch::MaskedTokens& masked,
                                     const PackedBatch& replaced, std::span<const float> logits,
                                     std::span<const float> predictions);

}  // namespace berth
