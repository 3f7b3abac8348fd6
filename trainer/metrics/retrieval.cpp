#include "trainer/metrics/retrieval.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::array<size_t, 4> kCuts = {1, 3, 5, 10};
constexpr size_t kGainCut = 10, kRankCut = 10;
constexpr const char* kGainName = "ndcg_at_10";
constexpr const char* kRankName = "mrr_at_10";
constexpr const char* kPrecisionName = "map_at_100";

// The gain of a document of this grade at place `at` of a ranking, counted from 0.
double discounted(int32_t grade, size_t at) {
  return static_cast<double>(grade) / std::log2(static_cast<double>(at) + 2);
}

// Of the ranking's first places. The grades of a query are few, so they are searched one by one
// where they are not relevant at all.
std::vector<int32_t> grades_of(std::span<const uint32_t> ranking,
                               std::span<const Judgement> judgements) {
  std::vector<int32_t> grades;
  for (const uint32_t document : ranking) {
    const auto found = std::ranges::find(judgements, document, &Judgement::document);
    grades.push_back(found == judgements.end() ? 0 : std::max(found->grade, 0));
  }
  return grades;
}

// The largest sum of gains that a ranking can have.
double ideal_gain(std::span<const Judgement> judgements) {
  std::vector<int32_t> grades;
  for (const Judgement& judgement : judgements) grades.push_back(std::max(judgement.grade, 0));
  std::ranges::sort(grades, std::greater());
  double sum = 0;
  for (size_t at = 0; at < std::min(grades.size(), kGainCut); ++at)
    sum += discounted(grades[at], at);
  return sum;
}

}  // namespace

std::vector<std::string> RetrievalMetrics::names() {
  std::vector<std::string> names = {kGainName, kRankName, kPrecisionName};
  for (const char* kind : {"accuracy_at_", "precision_at_", "recall_at_"}) {
    for (const size_t cut : kCuts) names.push_back(cat(kind, cut));
  }
  return names;
}

double RetrievalMetrics::add(std::span<const uint32_t> ranking,
                             std::span<const Judgement> judgements) {
  const auto relevant = static_cast<size_t>(std::ranges::count_if(
      judgements, [](const Judgement& judgement) { return judgement.grade > 0; }));
  assert(relevant > 0);
  const std::vector<int32_t> grades =
      grades_of(ranking.first(std::min(ranking.size(), kDepth)), judgements);
  double gain = 0, rank = 0, precisions = 0;
  size_t hits = 0, cut = 0;
  std::array<size_t, kCuts.size()> hits_at{};
  for (size_t at = 0; at < grades.size(); ++at) {
    if (at < kGainCut) gain += discounted(grades[at], at);
    if (grades[at] > 0) {
      ++hits;
      precisions += static_cast<double>(hits) / static_cast<double>(at + 1);
      if (hits == 1 && at < kRankCut) rank = 1 / static_cast<double>(at + 1);
    }
    if (cut < kCuts.size() && at + 1 == kCuts[cut]) hits_at[cut++] = hits;
  }
  for (; cut < kCuts.size(); ++cut) hits_at[cut] = hits;  // fewer documents than that
  const double normalized = gain / ideal_gain(judgements);
  sums_[kGainName] += normalized;
  sums_[kRankName] += rank;
  sums_[kPrecisionName] += precisions / static_cast<double>(std::min(kDepth, relevant));
  for (size_t i = 0; i < kCuts.size(); ++i) {
    const auto found = static_cast<double>(hits_at[i]);
    sums_[cat("accuracy_at_", kCuts[i])] += found > 0 ? 1 : 0;
    sums_[cat("precision_at_", kCuts[i])] += found / static_cast<double>(kCuts[i]);
    sums_[cat("recall_at_", kCuts[i])] += found / static_cast<double>(relevant);
  }
  ++queries_;
  return normalized;
}

std::map<std::string, double> RetrievalMetrics::metrics() const {
  std::map<std::string, double> means;
  for (const std::string& name : names()) {
    const auto sum = sums_.find(name);
    means[name] = sum == sums_.end() ? 0 : sum->second / static_cast<double>(queries_);
  }
  return means;
}

namespace {

// Four numbers that the processor multiplies and adds at once.
using Lanes = float __attribute__((vector_size(16)));
constexpr size_t kLanes = 4;
constexpr size_t kQueries = 4;     // queries whose products with a document are made together
constexpr size_t kDocuments = 64;  // documents that stay in the cache while all queries pass

size_t rounded_up(size_t width) { return (width + kLanes - 1) / kLanes * kLanes; }

// Copies rows of `width` numbers to rows of `stride`, which end with zeros.
void copy_rows(std::span<const float> from, size_t width, size_t stride, std::vector<float>& to) {
  const size_t rows = from.size() / width;
  to.assign(rows * stride, 0.0f);
  for (size_t row = 0; row < rows; ++row) {
    std::copy_n(from.data() + row * width, width, to.data() + row * stride);
  }
}

Lanes load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

// The products of kQueries rows of queries and one document.
std::array<float, kQueries> products(const float* queries, size_t stride, const float* document) {
  std::array<Lanes, kQueries> sums{};
  for (size_t at = 0; at < stride; at += kLanes) {
    const Lanes of_document = load(document + at);
    for (size_t q = 0; q < kQueries; ++q) sums[q] += load(queries + q * stride + at) * of_document;
  }
  std::array<float, kQueries> results;
  for (size_t q = 0; q < kQueries; ++q) {
    results[q] = (sums[q][0] + sums[q][1]) + (sums[q][2] + sums[q][3]);
  }
  return results;
}

}  // namespace

ExactSearch::ExactSearch(std::vector<float> queries, size_t width, size_t depth,
                         std::span<const uint32_t> places, ThreadPool& pool)
    : width_(width),
      stride_(rounded_up(width)),
      depth_(depth),
      places_(places),
      pool_(pool),
      found_(queries.size() / width) {
  copy_rows(queries, width_, stride_, queries_);
  // products() reads whole groups of queries.
  queries_.resize((found_.size() + kQueries - 1) / kQueries * kQueries * stride_);
}

bool ExactSearch::is_better(const FoundDocument& a, const FoundDocument& b) const {
  if (a.score != b.score) return a.score > b.score;
  return places_[a.document] < places_[b.document];
}

void ExactSearch::offer(std::vector<FoundDocument>& found, const FoundDocument& document) const {
  const auto better = [this](const FoundDocument& a, const FoundDocument& b) {
    return is_better(a, b);
  };
  if (found.size() == depth_) {
    if (!is_better(document, found.front())) return;
    std::ranges::pop_heap(found, better);
    found.pop_back();
  }
  found.push_back(document);
  std::ranges::push_heap(found, better);
}

// Of the groups of queries [begin, end).
void ExactSearch::search(size_t begin, size_t end, uint32_t first, const float* vectors,
                         size_t documents) {
  for (size_t from = 0; from < documents; from += kDocuments) {
    const size_t to = std::min(from + kDocuments, documents);
    for (size_t group = begin; group < end; ++group) {
      const size_t query = group * kQueries;
      const size_t last = std::min(kQueries, found_.size() - query);
      for (size_t d = from; d < to; ++d) {
        const auto scores =
            products(queries_.data() + query * stride_, stride_, vectors + d * stride_);
        for (size_t q = 0; q < last; ++q) {
          offer(found_[query + q], {scores[q], first + static_cast<uint32_t>(d)});
        }
      }
    }
  }
}

void ExactSearch::add(uint32_t first, std::span<const float> vectors) {
  const size_t documents = vectors.size() / width_;
  copy_rows(vectors, width_, stride_, block_);
  const auto groups = static_cast<int64_t>((found_.size() + kQueries - 1) / kQueries);
  pool_.parallel_for(groups, 1, [&](int64_t begin, int64_t end, int) {
    search(static_cast<size_t>(begin), static_cast<size_t>(end), first, block_.data(), documents);
  });
}

void ExactSearch::add_found(size_t query, std::span<const FoundDocument> found) {
  for (const FoundDocument& document : found) offer(found_[query], document);
}

std::vector<FoundDocument> ExactSearch::ranking(size_t query) const {
  std::vector<FoundDocument> ranking = found_[query];
  std::ranges::sort(
      ranking, [this](const FoundDocument& a, const FoundDocument& b) { return is_better(a, b); });
  return ranking;
}

}  // namespace berth
