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

}  // namespace berth
