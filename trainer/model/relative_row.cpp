#include "trainer/model/relative_row.h"

#include <algorithm>
#include <cmath>

#include "trainer/model/config.h"

namespace berth {
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
