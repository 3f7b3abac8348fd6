#include "trainer/metrics/reranking.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace berth {
namespace {

constexpr size_t kDepth = 10;

double gain(const ListedPassage& passage) { return std::max(0.0, passage.relevance); }

// The discount of the rank, which counts from 0; 0 behind the first ten.
double rank_discount(size_t rank) {
  return rank < kDepth ? 1 / std::log2(static_cast<double>(rank) + 2) : 0;
}

// Where the passages end that have the score of the one at `begin`.
size_t end_of_ties(std::span<const ListedPassage> sorted, size_t begin) {
  size_t end = begin;
  while (end < sorted.size() && sorted[end].score == sorted[begin].score) ++end;
  return end;
}

double ndcg_of(std::span<const ListedPassage> sorted) {
  std::vector<double> gains;
  for (const ListedPassage& passage : sorted) gains.push_back(gain(passage));
  std::ranges::sort(gains, std::greater());
  double best = 0, found = 0;
  for (size_t i = 0; i < gains.size(); ++i) best += gains[i] * rank_discount(i);
  if (best == 0) return 0;
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    end = end_of_ties(sorted, begin);
    double tied = 0, discounts = 0;
    for (size_t i = begin; i < end; ++i) {
      tied += gain(sorted[i]);
      discounts += rank_discount(i);
    }
    found += tied / static_cast<double>(end - begin) * discounts;
  }
  return found / best;
}

// The sum over different scores of the precision there, times the growth of recall.
double average_precision(std::span<const ListedPassage> sorted) {
  double relevant = 0, sum = 0;
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    end = end_of_ties(sorted, begin);
    double tied = 0;
    for (size_t i = begin; i < end; ++i) tied += sorted[i].relevance > 0 ? 1 : 0;
    relevant += tied;
    sum += tied * relevant / static_cast<double>(end);
  }
  return relevant > 0 ? sum / relevant : 0;
}

double reciprocal_rank(std::span<const ListedPassage> sorted) {
  for (size_t i = 0; i < std::min(kDepth, sorted.size()); ++i) {
    if (sorted[i].relevance > 0) return 1 / static_cast<double>(i + 1);
  }
  return 0;
}

}  // namespace

double RerankingMetrics::add(std::span<const ListedPassage> passages) {
  std::vector<ListedPassage> sorted(passages.begin(), passages.end());
  std::ranges::stable_sort(sorted, [](const ListedPassage& a, const ListedPassage& b) {
    return a.score != b.score ? a.score > b.score : a.relevance < b.relevance;
  });
  const double ndcg = ndcg_of(sorted);
  ndcg_ += ndcg;
  mrr_ += reciprocal_rank(sorted);
  map_ += average_precision(sorted);
  ++queries_;
  return ndcg;
}

std::map<std::string, double> RerankingMetrics::metrics() const {
  const double queries = static_cast<double>(std::max<int64_t>(1, queries_));
  return {{"ndcg_at_10", ndcg_ / queries}, {"mrr_at_10", mrr_ / queries}, {"map", map_ / queries}};
}

std::vector<std::string> RerankingMetrics::names() { return {"ndcg_at_10", "mrr_at_10", "map"}; }

}  // namespace berth
