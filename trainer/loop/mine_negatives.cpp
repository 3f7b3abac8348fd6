#include "trainer/loop/mine_negatives.h"

#include <algorithm>
#include <cmath>

#include "trainer/data/batcher.h"

namespace berth {
namespace {

// Whether a passage is refused. The first rule that refuses it counts it.
bool is_refused(double score, double worst_positive, const MiningRules& rules,
                MiningCounts& refused) {
  const auto count = [](bool refuses, int64_t& counter) {
    counter += refuses ? 1 : 0;
    return refuses;
  };
  if (rules.margin && count(score + *rules.margin > worst_positive, refused.margin)) return true;
  if (rules.relative_margin) {
    const double most = worst_positive - std::abs(worst_positive) * *rules.relative_margin;
    if (count(score > most, refused.relative_margin)) return true;
  }
  if (rules.max_score && count(score > *rules.max_score, refused.max_score)) return true;
  return rules.min_score && count(score < *rules.min_score, refused.min_score);
}

// `count` of the passages, in their order.
std::vector<ScoredPassage> sample(const std::vector<ScoredPassage>& from, size_t count,
                                  uint64_t seed, uint32_t query) {
  std::vector<uint32_t> order;
  permute(static_cast<int64_t>(from.size()), seed, 0, query, order);
  order.resize(count);
  std::ranges::sort(order);
  std::vector<ScoredPassage> chosen;
  for (const uint32_t place : order) chosen.push_back(from[place]);
  return chosen;
}

}  // namespace

int64_t MiningRules::usual_last(int64_t positives, bool rescores) const {
  const bool refuses = margin || relative_margin || max_score || (rescores && min_score);
  return skipped + negatives * (refuses ? 10 : 1) + positives;
}

std::vector<ScoredPassage> choose_negatives(std::span<const ScoredPassage> found,
                                            std::span<const uint32_t> positives,
                                            double worst_positive, const MiningRules& rules,
                                            uint32_t query, MiningCounts& refused) {
  std::vector<ScoredPassage> left;
  for (const ScoredPassage& passage : found) {
    if (std::ranges::find(positives, passage.document) != positives.end()) continue;
    if (!is_refused(passage.score, worst_positive, rules, refused)) left.push_back(passage);
  }
  std::ranges::stable_sort(left, std::ranges::greater(), &ScoredPassage::score);
  left.resize(std::min(left.size(), static_cast<size_t>(rules.last)));
  left.erase(left.begin(), left.begin() + std::min(std::ssize(left), rules.skipped));
  const auto count = static_cast<size_t>(rules.negatives);
  if (left.size() < count) return {};
  if (rules.samples) return sample(left, count, rules.seed, query);
  left.resize(count);
  return left;
}

}  // namespace berth
