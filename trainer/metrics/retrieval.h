#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "storage/base/thread_pool.h"

namespace berth {

// How well a search finds the documents that people judged to be relevant.
//
// Where InformationRetrievalEvaluator of sentence-transformers 6.2 and pytrec-eval-terrier compute
// the same number, this is that number. They differ in four things:
// - nDCG: the evaluator counts a document as relevant or not. pytrec adds the grades of relevance
//   (ndcg_cut: grade / log2(rank + 1)), and so do BEIR and MTEB. berth does as pytrec. Where all
//   grades are 1, both are equal.
// - MAP@100: pytrec divides by all relevant documents of the query, the evaluator by at most 100.
//   berth does as the evaluator. So a query with more than 100 relevant documents can reach 1.
// - Equal scores: berth and the evaluator rank the lower id first, pytrec the higher one.
// - Queries without a relevant document: berth and the evaluator leave them out, pytrec counts
//   them as 0.

// How relevant a document is for a query. A grade of 0 or less means that it is not.
struct Judgement {
  uint32_t document = 0;
  int32_t grade = 0;
};

// The metrics of some queries as means over them. Not thread-safe.
class RetrievalMetrics {
 public:
  static constexpr size_t kDepth = 100;  // documents of a ranking that are looked at

  // Adds a query that has a relevant document. `ranking` holds the documents that were found, the
  // best first. `judgements` name each document at most once. Returns the query's nDCG@10.
  double add(std::span<const uint32_t> ranking, std::span<const Judgement> judgements);

  // The means, by the names of names(). All are 0 where no query was added.
  std::map<std::string, double> metrics() const;

  // "ndcg_at_10", which is the main metric, "mrr_at_10", "map_at_100", and accuracy, precision and
  // recall at 1, 3, 5 and 10.
  static std::vector<std::string> names();

 private:
  std::map<std::string, double> sums_;
  int64_t queries_ = 0;
};

// A document that a search found.
struct FoundDocument {
  float score = 0;
  uint32_t document = 0;
};

// Exact search by dot products: the best documents for each of some queries. Documents come in
// blocks, and no vector of them is kept. A score is one sum in fp32 whose order depends on nothing
// but the width. So equal vectors have equal scores, and results do not depend on the number of
// threads or on the blocks. Not thread-safe.
class ExactSearch {
 public:
  // `queries` are vectors of `width` numbers, one behind the other. At most `depth` documents are
  // found for each. Between equal scores, the document with the lower number in `places` is the
  // better one. The places of all documents are different. `places` and `pool` are borrowed.
  ExactSearch(std::vector<float> queries, size_t width, size_t depth,
              std::span<const uint32_t> places, ThreadPool& pool);

  size_t queries() const { return found_.size(); }

  // Searches the vectors of the documents from number `first` on.
  void add(uint32_t first, std::span<const float> vectors);
  // Adds what another search found for the query `query`, in any order.
  void add_found(size_t query, std::span<const FoundDocument> found);

  // What was found for a query, the best first.
  std::vector<FoundDocument> ranking(size_t query) const;

 private:
  bool is_better(const FoundDocument& a, const FoundDocument& b) const;
  void offer(std::vector<FoundDocument>& found, const FoundDocument& document) const;
  void search(size_t begin, size_t end, uint32_t first, const float* vectors, size_t documents);

  const size_t width_, stride_, depth_;
  std::vector<float> queries_;  // rows of stride_, which end with zeros
  const std::span<const uint32_t> places_;
  ThreadPool& pool_;
  std::vector<float> block_;  // the vectors of the last add(), in rows of stride_
  std::vector<std::vector<FoundDocument>> found_;  // heaps, on top of each the worst document
};

}  // namespace berth
