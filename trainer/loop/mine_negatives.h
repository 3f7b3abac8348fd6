#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace berth {

// Which of the passages that a search found for a query are its hard negatives. The rules and their
// order are mine_hard_negatives() of sentence-transformers 6.2.
struct MiningRules {
  int64_t negatives = 3;  // of a query; one with fewer has none
  // Of the passages that are left, the first `skipped` ones and those behind `last` are too near
  // and too far.
  int64_t skipped = 0, last = 0;
  // How much less than the worst positive a negative's score must be: by a number, and by a share
  // of the positive's score.
  std::optional<double> margin{}, relative_margin{};
  std::optional<double> max_score{}, min_score{};
  bool samples = false;  // chooses among the passages of the range at random, else the first ones
  uint64_t seed = 0;

  // The last passage of a range for queries with at most `positives` positives. `rescores`: a
  // cross-encoder scores them anew.
  int64_t usual_last(int64_t positives, bool rescores) const;
};

// A passage, with its score for a query.
struct ScoredPassage {
  uint32_t document = 0;
  double score = 0;
};

// How many passages each rule refused.
struct MiningCounts {
  int64_t margin = 0, relative_margin = 0, max_score = 0, min_score = 0;
};

// The negatives of the query of this number: rules.negatives of them, the best first, or none. Of
// equal scores, the first one of `found` is the better one. `positives` are its own passages, of
// which the worst has the score `worst_positive`.
std::vector<ScoredPassage> choose_negatives(std::span<const ScoredPassage> found,
                                            std::span<const uint32_t> positives,
                                            double worst_positive, const MiningRules& rules,
                                            uint32_t query, MiningCounts& refused);

}  // namespace berth
