#include "trainer/model/batch_parts.h"

#include <algorithm>

namespace berth {

BatchLimits limits_of_part(const BatchLimits& whole) {
  return {.tokens = std::min(whole.tokens, whole.part_tokens),
          .sequences = std::min(whole.sequences, whole.part_sequences),
          .recomputes = whole.recomputes};
}

namespace {

// The sequences from `first` up to `last` of a batch, without their labels.
PackedBatch part_of(const PackedBatch& batch, size_t first, size_t last) {
  const int32_t begin = batch.cu_seqlens[first], end = batch.cu_seqlens[last];
  const auto part = [&](const std::vector<int32_t>& of) {
    return std::vector<int32_t>(of.begin() + begin, of.begin() + end);
  };
  PackedBatch made{.input_ids = part(batch.input_ids),
                   .token_type_ids = part(batch.token_type_ids),
                   .position_ids = part(batch.position_ids),
                   .labels = {},
                   .weights = {},
                   .first_token = batch.first_token + static_cast<uint64_t>(begin),
                   .first_sequence = batch.first_sequence + first};
  for (size_t b = first; b < last; ++b) {
    made.cu_seqlens.push_back(batch.cu_seqlens[b + 1] - begin);
  }
  return made;
}

}  // namespace

std::vector<PackedBatch> parts_of(const PackedBatch& batch, const BatchLimits& of_part) {
  std::vector<PackedBatch> parts;
  const auto sequences = static_cast<size_t>(batch.num_sequences());
  for (size_t first = 0; first < sequences;) {
    size_t last = first + 1;
    while (last < sequences && static_cast<int64_t>(last - first) < of_part.sequences &&
           batch.cu_seqlens[last + 1] - batch.cu_seqlens[first] <= of_part.tokens) {
      ++last;
    }
    parts.push_back(part_of(batch, first, last));
    first = last;
  }
  return parts;
}

}  // namespace berth
