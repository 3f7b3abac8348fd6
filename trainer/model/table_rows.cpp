#include "trainer/model/table_rows.h"

#include <algorithm>
#include <cmath>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/model/config.h"

namespace berth {

void check_ids(const PackedBatch& batch, const ModelConfig& config) {
  const auto check = [](const std::vector<int32_t>& ids, int64_t size, const char* what,
                        const char* hint = "") {
    for (const int32_t id : ids) {
      if (id >= 0 && id < size) continue;
      throw Error(Code::kBadData, cat(what, " ", id, " is outside the model's table of ", size), "",
                  hint);
    }
  };
  check(batch.input_ids, config.vocab_size, "token id");
  check(batch.position_ids, config.max_sequence_length(), "position");
  if (config.type_vocab_size > 0) {
    check(batch.token_type_ids, config.type_vocab_size, "token type",
          "if pairs have no types, leave token_type_ids out of model_input_names in "
          "tokenizer_config.json");
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

namespace {

// The bucket of a distance. It is computed in fp32 because the published code does so: rounding
// decides the bucket of some distances.
int64_t bucket_of(int64_t distance, int64_t buckets, int64_t most) {
  const int64_t middle = buckets / 2, size = std::abs(distance);
  if (size <= middle) return distance;
  const auto ratio = static_cast<float>(size) / static_cast<float>(middle);
  const auto whole = static_cast<float>(most - 1) / static_cast<float>(middle);
  const float place = std::log(ratio) / std::log(whole) * static_cast<float>(middle - 1);
  const auto bucket = static_cast<int64_t>(std::ceil(place)) + middle;
  return distance < 0 ? -bucket : bucket;
}

}  // namespace

int32_t relative_row(const ModelConfig& config, int64_t distance) {
  const int64_t span = config.relative_span();
  const int64_t place = config.position_buckets > 0 ? bucket_of(distance, config.position_buckets,
                                                                config.max_relative_positions)
                                                    : distance;
  return static_cast<int32_t>(std::clamp<int64_t>(place + span, 0, 2 * span - 1));
}

// It is computed in fp32 because the published code does so.
int32_t position_bias_row(int64_t distance) {
  constexpr int32_t kOneWay = 16, kExact = 8;
  constexpr float kMost = 128;
  const int32_t way = distance < 0 ? kOneWay : 0;
  const int64_t size = std::abs(distance);
  if (size < kExact) return way + static_cast<int32_t>(size);
  const float whole = std::log(kMost / kExact);
  const float place = std::log(static_cast<float>(size) / kExact) / whole * (kOneWay - kExact);
  return way + std::min(kExact + static_cast<int32_t>(place), kOneWay - 1);
}

}  // namespace berth
