#pragma once

#include <cstdint>
#include <vector>

#include "trainer/model/batch.h"
#include "trainer/model/config.h"

// What engines check and compute of a batch's ids before they look anything up.
namespace berth {

// Throws Error{kBadData} for an id that the model's tables lack. Rows may hold token ids instead of
// texts, and another tokenizer may have made those.
void check_ids(const PackedBatch& batch, const ModelConfig& config);

// The rows of the table of positions that the tokens look up [T]. They are the batch's
// position_ids, except where the config counts from padding: then the tokens of a sequence are
// numbered from pad_token_id + 1; padding tokens are not counted, and their position is
// pad_token_id.
std::vector<int32_t> table_positions(const PackedBatch& batch, const ModelConfig& config);

struct ModelConfig;

// The row of the table for a distance (query minus key), from 0 to 2 * relative_span() - 1. Short
// distances have a row each; long ones share rows, the more the longer they are (He et al. 2021,
// arXiv:2111.09543, and its published code). The row does not decrease with the distance.
int32_t relative_row(const ModelConfig& config, int64_t distance);

// The row of MPNet's table of 32 biases for a distance (query minus key): the bucket of T5 (Raffel
// et al. 2019, arXiv:1910.10683). Rows 0 to 15 are of keys at or before the query, and rows 16 to
// 31 of keys behind it. Distances of less than 8 have a row each; longer ones share rows up to 128.
int32_t position_bias_row(int64_t distance);

}  // namespace berth
