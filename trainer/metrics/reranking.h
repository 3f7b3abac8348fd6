#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace berth {

// A passage in the list of a query.
struct ListedPassage {
  double score = 0;
  double relevance = 0;  // above 0: it is relevant
};

// How well scores rank the passages of each query: the means over queries that
// CrossEncoderRerankingEvaluator of sentence-transformers 6.2 computes. These are ndcg_score and
// average_precision_score of scikit-learn, and the reciprocal rank. A query without a relevant
// passage counts as 0. nDCG adds grades of relevance, where there are some. Of passages with equal
// scores, nDCG and MAP take the mean, and MRR the worst order. Not thread-safe.
class RerankingMetrics {
 public:
  // Adds a query. Returns its nDCG@10.
  double add(std::span<const ListedPassage> passages);

  int64_t queries() const { return queries_; }
  // By the names of names().
  std::map<std::string, double> metrics() const;

  // "ndcg_at_10", which is the main metric, "mrr_at_10" and "map".
  static std::vector<std::string> names();

 private:
  double ndcg_ = 0, mrr_ = 0, map_ = 0;  // sums
  int64_t queries_ = 0;
};

}  // namespace berth
