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

  // A class for each sequence [B].
  using Classes = std::vector<int32_t>;
  // A class for each token [T]; negative: none.
  struct TokenClasses {
    std::vector<int32_t> classes;
    bool operator==(const TokenClasses&) const = default;
  };
  // Tokens whose ids are to be told: their places in the batch, increasing, and the ids [M];
  // negative: to be told without a loss.
  struct MaskedTokens {
    std::vector<int32_t> tokens, ids;
    bool operator==(const MaskedTokens&) const = default;
  };
  // A number for each sequence [B]: regression.
  struct Scores {
    std::vector<float> values;
    bool operator==(const Scores&) const = default;
  };
  // How far each class applies to each sequence [B,C], 0 to 1: multi-label classification.
  struct ClassSets {
    std::vector<float> targets;
    bool operator==(const ClassSets&) const = default;
  };
  // Where each sequence's answer begins and ends [B]: places in the batch (not in the sequence),
  // both inclusive; negative: no loss.
  struct Answers {
    std::vector<int32_t> starts, ends;
    bool operator==(const Answers&) const = default;
  };
  std::variant<std::monostate, Classes, TokenClasses, MaskedTokens, Scores, ClassSets, Answers>
      labels;  // none: predict

  // Of the labelled sequences [B], or tokens [T] where these have the labels; empty: all 1.
  std::vector<float> weights;

  // Place of this micro-batch in its update: tokens and sequences before it (on any rank).
  uint64_t first_token = 0, first_sequence = 0;

  int64_t num_tokens() const { return static_cast<int64_t>(input_ids.size()); }
  int64_t num_sequences() const { return static_cast<int64_t>(cu_seqlens.size()) - 1; }
};

// The largest batch that a model makes room for.
struct BatchLimits {
  int64_t tokens = 0;
  int64_t sequences = 0;
  int64_t masked = 0;  // tokens to be told; 0: all
  // No room but for each layer's result: what backward needs besides is computed again (Chen et al.
  // 2016, arXiv:1604.06174).
  bool recomputes = false;

  int64_t most_masked() const { return masked > 0 ? masked : tokens; }
};

}  // namespace berth
