#include "trainer/model/batch_ids.h"

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

void check_ids(const PackedBatch& batch, const ModelConfig& config) {
  const auto check = [](const std::vector<int32_t>& ids, int64_t size, const char* what) {
    for (const int32_t id : ids) {
      if (id >= 0 && id < size) continue;
      throw Error(Code::kBadData, cat(what, " ", id, " is outside the model's table of ", size));
    }
  };
  check(batch.input_ids, config.vocab_size, "token id");
  check(batch.position_ids, config.max_sequence_length(), "position");
  if (config.type_vocab_size > 0) {
    check(batch.token_type_ids, config.type_vocab_size, "token type");
  }
}

std::vector<int32_t> table_positions(const PackedBatch& batch, const ModelConfig& config) {
  if (!config.counts_from_padding()) return batch.position_ids;
  const auto padding = static_cast<int32_t>(config.pad_token_id);
  std::vector<int32_t> positions(batch.input_ids.size());
  int32_t counted = padding;
  for (size_t i = 0; i < positions.size(); ++i) {
    if (batch.position_ids[i] == 0) counted = padding;
    positions[i] = batch.input_ids[i] == padding ? padding : ++counted;
  }
  return positions;
}

}  // namespace berth
