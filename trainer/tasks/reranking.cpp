#include "trainer/tasks/reranking.h"

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "storage/base/text.h"
#include "trainer/metrics/reranking.h"
#include "trainer/tasks/result_kinds.h"

namespace berth {
namespace {

// A passage of a query.
struct QueryPassage {
  size_t text = 0;  // a hash of it
  double score = 0, relevance = 0;
  int64_t index = 0;   // of the features that hold it
  uint32_t place = 0;  // among the passages of these features
};
using QueryPassages = std::vector<QueryPassage>;

// The passages of each query: of all rows with the same first text.
class QueryLists {
 public:
  // Adds the passages of the features at `index`, with their scores. `relevances` are empty where
  // the first passage is the relevant one.
  void add(const Dataset& data, int64_t index, std::span<const float> scores,
           std::span<const float> relevances) {
    const Example example = data.example(index);
    const size_t number = numbers_.try_emplace(example.texts.at(0), lists_.size()).first->second;
    if (number == lists_.size()) lists_.emplace_back();
    for (size_t i = 0; i < scores.size(); ++i) {
      const double usual = i == 0 ? 1 : 0;
      lists_[number].push_back(
          {.text = std::hash<std::string>()(example.texts.at(i + 1)),
           .score = static_cast<double>(scores[i]),
           .relevance = relevances.empty() ? usual : static_cast<double>(relevances[i]),
           .index = index,
           .place = static_cast<uint32_t>(i)});
    }
  }

  // In the order in which their queries came.
  const std::vector<QueryPassages>& lists() const { return lists_; }

 private:
  std::unordered_map<std::string, size_t> numbers_;  // of the queries
  std::vector<QueryPassages> lists_;
};

// A list in which each passage stands once: with its first score, and its largest relevance.
QueryPassages without_repeats(const QueryPassages& list) {
  QueryPassages once;
  std::unordered_map<size_t, size_t> places;
  for (const QueryPassage& passage : list) {
    const auto [found, is_new] = places.try_emplace(passage.text, once.size());
    if (is_new) {
      once.push_back(passage);
    } else {
      double& relevance = once[found->second].relevance;
      relevance = std::max(relevance, passage.relevance);
    }
  }
  return once;
}

// The worst queries, with their texts.
class MissedQueries {
 public:
  MissedQueries(const Dataset& data, const std::vector<QueryPassages>& lists)
      : data_(data), lists_(lists) {}

  // A query with a relevant passage, and its nDCG@10.
  void add(size_t list, double ndcg) {
    if (ndcg < 1) missed_.push_back({list, ndcg});
  }

  std::vector<MissedQuery> worst() {
    constexpr size_t kMost = 10;
    std::ranges::stable_sort(missed_, std::less(), &Missed::ndcg);
    missed_.resize(std::min(missed_.size(), kMost));
    std::vector<MissedQuery> made;
    for (const Missed& missed : missed_) made.push_back(with_texts(missed));
    return made;
  }

 private:
  struct Missed {
    size_t list;
    double ndcg;
  };

  MissedQuery with_texts(const Missed& missed) const {
    QueryPassages list = without_repeats(lists_[missed.list]);
    std::ranges::stable_sort(list, std::greater(), &QueryPassage::score);
    const auto wanted = std::ranges::max_element(list, {}, &QueryPassage::relevance);
    MissedQuery made{.rank = wanted - list.begin() + 1, .ndcg = missed.ndcg};
    made.query = shown_part(data_.example(list.front().index).texts.at(0));
    std::tie(made.wanted_id, made.wanted) = id_and_text(*wanted);
    std::tie(made.first_id, made.first) = id_and_text(list.front());
    return made;
  }

  // What the row of a passage is known by, and the passage.
  std::pair<std::string, std::string> id_and_text(const QueryPassage& passage) const {
    const Example example = data_.example(passage.index);
    const std::string number = std::to_string(data_.source_row(passage.index));
    return {shown_part(example.id.empty() ? number : example.id),
            shown_part(example.texts.at(passage.place + 1))};
  }

  const Dataset& data_;
  const std::vector<QueryPassages>& lists_;
  std::vector<Missed> missed_;
};

class RerankingEvaluator final : public Evaluator {
 public:
  explicit RerankingEvaluator(Dataset& data) : data_(data) {}

  void add(int64_t index, std::span<const float> logits) override {
    // Where rows have no labels, their targets are a teacher's scores.
    const bool has_labels = traits(data_.task()).has_label_column;
    queries_.add(data_, index, logits,
                 has_labels ? data_.features(index).targets : std::vector<float>());
  }

  TaskScores finish() override {
    RerankingMetrics metrics;
    MissedQueries missed(data_, queries_.lists());
    size_t passages = 0;
    int64_t without = 0;  // queries without a relevant passage
    for (size_t number = 0; number < queries_.lists().size(); ++number) {
      std::vector<ListedPassage> list;
      double most = 0;
      for (const QueryPassage& passage : without_repeats(queries_.lists()[number])) {
        list.push_back({passage.score, passage.relevance});
        most = std::max(most, passage.relevance);
      }
      const double ndcg = metrics.add(list);
      passages += list.size();
      if (most > 0) {
        missed.add(number, ndcg);
      } else {
        ++without;
      }
    }
    TaskScores scores{.metrics = metrics.metrics()};
    const int64_t queries = metrics.queries();
    scores.note = cat("of ", queries, queries == 1 ? " query" : " queries", " with ",
                      counted(passages, "passage"));
    if (without > 0) scores.note += cat("; the ", without, " without a relevant one count as 0");
    scores.details.missed = missed.worst();
    return scores;
  }

 private:
  Dataset& data_;
  QueryLists queries_;
};

}  // namespace

std::vector<float> ranks_in_lists(const Dataset& data, std::span<const float> scores) {
  QueryLists queries;
  for (int64_t i = 0; i < data.size(); ++i) {
    if (is_empty_row(data.example(i), traits(data.task()).inputs)) continue;
    queries.add(data, i, scores.subspan(static_cast<size_t>(i), 1), {});
  }
  std::vector<float> ranks(scores.size());
  for (QueryPassages list : queries.lists()) {
    std::ranges::stable_sort(list, std::greater(), &QueryPassage::score);
    for (size_t i = 0; i < list.size(); ++i) {
      ranks[static_cast<size_t>(list[i].index)] = static_cast<float>(i + 1);
    }
  }
  return ranks;
}

std::unique_ptr<Evaluator> make_reranking_evaluator(const ResultInputs& of) {
  return std::make_unique<RerankingEvaluator>(of.data);
}

}  // namespace berth
