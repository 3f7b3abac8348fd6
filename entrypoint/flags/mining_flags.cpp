#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flag_value.h"

namespace berth {
namespace {

auto mining(auto member) { return place(&CommandLine::settings, &Settings::mining, member); }

constexpr RealRange kScore{-1e6, 1e6, true, true, "a number"};

const FlagRole kOfMining = {Effect::kUnrecorded, kInMine, kRefusedElsewhere};

// The rules that refuse a passage by its score.
std::vector<Flag> score_flags() {
  return {
      {"mine-margin",
       "For --mode mine: how much less than the positive's score a negative's score must be. Of "
       "several positives, the worst one counts.",
       optional_real_value(mining(&MiningOptions::margin), kScore), kOfMining, "no margin"},
      {"mine-relative-margin",
       "The same as a share of the positive's score: with 0.05, a negative has at most 95 % of it.",
       optional_real_value(mining(&MiningOptions::relative_margin),
                           {0, 1, true, true, "a number from 0 to 1"}),
       kOfMining, "no margin"},
      {"mine-max-score",
       "For --mode mine: the largest score of a negative. Scores are cosines, or what "
       "--mine-reranker says.",
       optional_real_value(mining(&MiningOptions::max_score), kScore), kOfMining, "no limit"},
      {"mine-min-score", "For --mode mine: the smallest score of a negative.",
       optional_real_value(mining(&MiningOptions::min_score), kScore), kOfMining, "no limit"},
  };
}

}  // namespace

std::vector<Flag> mining_flags() {
  std::vector<Flag> flags = {
      {"mine-corpus",
       "For --mode mine: the passages among which negatives are found, a table or a folder of its "
       "parts. It has a column such as text, and perhaps title.",
       path_value("PATH", mining(&MiningOptions::corpus)), kOfMining, "the positives of all pairs"},
      {"mine-negatives, num-negatives",
       "For --mode mine: the negatives of each pair. A pair for which fewer are left is not "
       "written.",
       integer_value(mining(&MiningOptions::negatives), {1, 10'000}), kOfMining},
      {"mine-range",
       "For --mode mine: which of the nearest passages may be negatives. 10-100 leaves the first "
       "10 out, and takes none behind the first 100. They are counted without the positives and "
       "the passages that the other rules refuse.",
       text_value("FIRST-LAST", mining(&MiningOptions::range)), kOfMining,
       "as many as are needed, and ten times as many where a rule refuses some"},
      {"mine-sampling",
       "For --mode mine: top takes the nearest passages of the range. random takes any of them, "
       "by --seed.",
       choice_value<bool>(mining(&MiningOptions::samples), {{"top", false}, {"random", true}}),
       kOfMining},
      {"mine-reranker",
       "For --mode mine: a cross-encoder that scores the passages anew, in any form that --model "
       "takes. All rules then heed its scores.",
       path_value("PATH", mining(&MiningOptions::reranker)), kOfMining, "none"},
  };
  for (Flag& flag : score_flags()) flags.push_back(std::move(flag));
  return flags;
}

}  // namespace berth
