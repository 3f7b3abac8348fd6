#include "trainer/loop/vector_code.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace berth {

void ValueRanges::add(std::span<const float> vector) {
  if (lowest.empty()) {
    lowest.assign(vector.begin(), vector.end());
    highest = lowest;
  }
  for (size_t i = 0; i < vector.size(); ++i) {
    lowest[i] = std::min(lowest[i], vector[i]);
    highest[i] = std::max(highest[i], vector[i]);
  }
}

bool needs_ranges(EmbeddingsType type) {
  return type == EmbeddingsType::kInt8 || type == EmbeddingsType::kUint8;
}

std::string_view name_of(EmbeddingsType type) {
  constexpr std::array<std::string_view, 5> kNames = {"float32", "int8", "uint8", "binary",
                                                      "ubinary"};
  return kNames[static_cast<size_t>(type)];
}

size_t VectorCode::width(size_t width) const {
  return type == EmbeddingsType::kFloat32 || needs_ranges(type) ? width : width / 8;
}

void VectorCode::apply(std::vector<float>& vector) const {
  if (type == EmbeddingsType::kFloat32) return;
  if (needs_ranges(type)) {
    assert(ranges.lowest.size() == vector.size());
    const float least = type == EmbeddingsType::kInt8 ? -128 : 0;
    for (size_t i = 0; i < vector.size(); ++i) {
      const float step = (ranges.highest[i] - ranges.lowest[i]) / 255;
      const float steps = step > 0 ? (vector[i] - ranges.lowest[i]) / step : 0;
      vector[i] = std::clamp(std::floor(steps), 0.0f, 255.0f) + least;
    }
    return;
  }
  const int32_t least = type == EmbeddingsType::kBinary ? -128 : 0;
  for (size_t byte = 0; byte < vector.size() / 8; ++byte) {
    int32_t bits = 0;
    for (size_t i = 0; i < 8; ++i) bits = bits * 2 + (vector[8 * byte + i] > 0 ? 1 : 0);
    vector[byte] = static_cast<float>(bits + least);
  }
  vector.resize(vector.size() / 8);
}

}  // namespace berth
