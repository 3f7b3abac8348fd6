#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

namespace berth {

// A padding-free batch: the T tokens of B sequences, laid end to end. Sequence b is the tokens from
// cu_seqlens[b] up to, not including, cu_seqlens[b+1]. All arrays are in host memory.
struct PackedBatch {
  std::vector<int32_t> input_ids, token_type_ids, position_ids;  // [T]
  std::vector<int32_t> cu_seqlens = {0};                         // [B+1]

  // How many neighbouring sequences are one example: 1, or for InputKind::kTextGroup all of a
  // row. Then each example has labels, weights and logits, and B counts the examples.
  int32_t sequences_per_example = 1;

  // Which of several sources the examples are from, from 0; see ModelConfig::sources.
  int32_t source = 0;

  // The labels, by the task's LabelKind.
  // The class of each sequence, or the right choice of each group [B]; for LabelKind::kPlaceInBatch
  // 0, 1, ..., B-1.
  using Classes = std::vector<int32_t>;
  // The class of each token [T]. A negative one is no label and has no loss.
  struct TokenClasses {
    std::vector<int32_t> classes;
    bool operator==(const TokenClasses&) const = default;
  };
  // The M masked tokens: their places in the batch, increasing, and the ids that the model should
  // predict [M]. A negative id has no loss.
  struct MaskedTokens {
    std::vector<int32_t> tokens, ids;
    // For HeadRows::kMaskedAndFirst, the class of each sequence [B]: 0 if its second text follows
    // the first one, else 1. Each of them weighs 1.
    std::vector<int32_t> next_sentences{};
    bool operator==(const MaskedTokens&) const = default;
  };
  // The number of each sequence [B]; its vector [B,C], for LabelKind::kVector; or the vector of
  // each token [T,C], for LabelKind::kVectorPerToken.
  struct Scores {
    std::vector<float> values;
    bool operator==(const Scores&) const = default;
  };
  // The set of classes of each sequence [B,C]: 1 for each class that belongs to it, else 0. Values
  // between them are soft targets. An ELECTRA's discriminator is given [T,1]: 1 for each token that
  // was replaced.
  struct ClassSets {
    std::vector<float> targets;
    bool operator==(const ClassSets&) const = default;
  };
  // The first and the last token of each sequence's answer [B], as places in the batch and not in
  // the sequence. A negative one has no loss.
  struct Answers {
    std::vector<int32_t> starts, ends;
    bool operator==(const Answers&) const = default;
  };
  std::variant<std::monostate, Classes, TokenClasses, MaskedTokens, Scores, ClassSets, Answers>
      labels;  // monostate: there are none, as in prediction

  // What a teacher makes of each sequence [B,C], where the labels are classes: its logits. Empty:
  // there is no teacher.
  std::vector<float> teacher_logits{};
  // The vector that another model makes of each sequence [B,V], where examples are texts that are
  // compared. Empty: the loss needs none.
  std::vector<float> text_vectors{};
  // The scores that a teacher gives to the texts of each example but its first one [B,G-1], or to
  // the pairs of a cross-encoder [B,G]. Empty: the loss needs none.
  std::vector<float> text_scores{};

  // A factor for the loss of each sequence [B], or of each token [T] where tokens have the labels.
  // Empty: all are 1.
  std::vector<float> weights;

  // The place of this micro-batch in its update: how many tokens and sequences come before it, on
  // all ranks. Dropout depends on it, so that an update is the same however it is cut.
  uint64_t first_token = 0, first_sequence = 0;

  int64_t num_tokens() const { return static_cast<int64_t>(input_ids.size()); }
  int64_t num_sequences() const { return static_cast<int64_t>(cu_seqlens.size()) - 1; }
  int64_t num_examples() const { return num_sequences() / sequences_per_example; }
  int64_t longest_sequence() const {
    int64_t longest = 0;
    for (size_t b = 1; b < cu_seqlens.size(); ++b) {
      longest = std::max<int64_t>(longest, cu_seqlens[b] - cu_seqlens[b - 1]);
    }
    return longest;
  }
};

// The largest batch that a model has memory for.
struct BatchLimits {
  int64_t tokens = 0;
  int64_t sequences = 0;
  int64_t masked = 0;  // masked tokens; 0: all tokens may be
  // Gradient checkpointing (Chen et al. 2016, arXiv:1604.06174): only the output of each layer is
  // kept, and backward recomputes its other activations.
  bool recomputes = false;
  // Gradient caching (Gao et al. 2021, arXiv:2101.06983), for tasks that compare texts: the largest
  // part of a batch that is computed at a time. 0: batches are computed as a whole.
  int64_t part_sequences = 0, part_tokens = 0;
  // The most sequences whose embeddings a loss compares, on all ranks; 0: as one rank has.
  int64_t compared_sequences = 0;

  int64_t most_masked() const { return masked > 0 ? masked : tokens; }
};

}  // namespace berth
