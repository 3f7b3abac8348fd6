#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace berth {

// B sequences laid end to end, without a padding token: sequence b is tokens
// [cu_seqlens[b], cu_seqlens[b+1]). The arrays of length T and B+1 live on the host.
struct PackedBatch {
  std::vector<int32_t> input_ids, token_type_ids, position_ids;  // [T]
  std::vector<int32_t> cu_seqlens = {0};                         // [B+1]

  // One label a sequence: a class. monostate: unlabelled (predict).
  using Classes = std::vector<int32_t>;
  std::variant<std::monostate, Classes> labels;

  // Place of this micro-batch in its update: tokens and sequences before it (on any rank).
  uint64_t first_token = 0, first_sequence = 0;

  int64_t num_tokens() const { return static_cast<int64_t>(input_ids.size()); }
  int64_t num_sequences() const { return static_cast<int64_t>(cu_seqlens.size()) - 1; }
};

// The largest batch that a model makes room for.
struct BatchLimits {
  int64_t tokens = 0;
  int64_t sequences = 0;
};

}  // namespace berth
