#include "trainer/metrics/retrieval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "storage/base/philox.h"
#include "tests/trainer/metrics/recorded_cases.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A search that tests/record/record_retrieval.py recorded.
struct RecordedSearch {
  explicit RecordedSearch(const Json& recorded)
      : width(recorded["documents"][0].size()), ids(recorded["ids"]) {
    for (const Json& vector : recorded["queries"]) append(vector, queries);
    for (const Json& vector : recorded["documents"]) append(vector, documents);
    std::vector<uint32_t> order(ids.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {}, [this](uint32_t document) { return ids[document]; });
    places.resize(ids.size());
    for (uint32_t place = 0; place < order.size(); ++place) places[order[place]] = place;
    for (const Json& judged : recorded["judgements"]) {
      std::vector<Judgement>& of_query = judgements.emplace_back();
      for (const Json& one : judged) of_query.push_back({one[0], one[1]});
    }
  }
  static void append(const Json& vector, std::vector<float>& to) {
    for (const Json& value : vector) to.push_back(value.get<float>());
  }

  // Searches in blocks of `block` documents.
  std::map<std::string, double> metrics(uint32_t block, int threads) const {
    ThreadPool pool(threads);
    ExactSearch search(queries, width, RetrievalMetrics::kDepth, places, pool);
    for (uint32_t first = 0; first < ids.size(); first += block) {
      const size_t count = std::min<size_t>(block, ids.size() - first);
      search.add(first, std::span(documents).subspan(first * width, count * width));
    }
    RetrievalMetrics metrics;
    for (size_t query = 0; query < judgements.size(); ++query) {
      std::vector<uint32_t> ranking;
      for (const FoundDocument& found : search.ranking(query)) ranking.push_back(found.document);
      metrics.add(ranking, judgements[query]);
    }
    return metrics.metrics();
  }

  size_t width;
  std::vector<std::string> ids;
  std::vector<float> queries, documents;
  std::vector<uint32_t> places;
  std::vector<std::vector<Judgement>> judgements;
};

TEST(RetrievalMetrics, AgreeWithTheEvaluatorAndPytrec) {
  const Json cases = recorded_cases("retrieval");
  ASSERT_EQ(cases.size(), 7u);
  for (const Json& recorded : cases) {
    const RecordedSearch search(recorded);
    bool is_graded = false, has_many = false;
    for (const std::vector<Judgement>& judged : search.judgements) {
      is_graded |= std::ranges::any_of(judged, [](const Judgement& one) { return one.grade > 1; });
      has_many |= judged.size() > RetrievalMetrics::kDepth;
    }
    for (const uint32_t block : {1u, 7u, 1000u}) {
      const std::map<std::string, double> metrics = search.metrics(block, /*threads=*/3);
      EXPECT_EQ(metrics.size(), RetrievalMetrics::names().size());
      for (const auto& [name, value] : recorded["evaluator"].items()) {
        if (is_graded && name == "ndcg_at_10") continue;
        EXPECT_NEAR(metrics.at(name), value.get<double>(), 1e-12) << name;
      }
      for (const auto& [name, value] : recorded["pytrec"].items()) {
        if (has_many && name == "map_at_100") continue;
        EXPECT_NEAR(metrics.at(name), value.get<double>(), 1e-12) << name;
      }
    }
  }
}

TEST(RetrievalMetrics, NoQueryIsNoError) {
  EXPECT_EQ(RetrievalMetrics().metrics().at("ndcg_at_10"), 0);
  EXPECT_EQ(RetrievalMetrics::names().front(), "ndcg_at_10");
}

TEST(RetrievalMetrics, GainOfAQueryIsReturned) {
  RetrievalMetrics metrics;
  EXPECT_EQ(metrics.add(std::vector<uint32_t>{3, 1}, std::vector<Judgement>{{3, 1}}), 1);
  EXPECT_EQ(metrics.add(std::vector<uint32_t>{1, 2}, std::vector<Judgement>{{3, 1}}), 0);
  EXPECT_EQ(metrics.add(std::vector<uint32_t>{}, std::vector<Judgement>{{3, 1}}), 0);
  EXPECT_NEAR(metrics.metrics().at("ndcg_at_10"), 1.0 / 3, 1e-15);
}

std::vector<float> random_vectors(size_t count, size_t width, uint32_t seed) {
  std::vector<float> values(count * width);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t word = philox4x32({static_cast<uint32_t>(i), 0, 0, 0}, {seed, 0})[0];
    values[i] = static_cast<float>(word) / static_cast<float>(UINT32_MAX) - 0.5f;
  }
  return values;
}

TEST(ExactSearch, FindsWhatSortingAllProductsFinds) {
  constexpr size_t kWidth = 21, kQueries = 7, kDocuments = 331, kDepth = 20;
  const std::vector<float> queries = random_vectors(kQueries, kWidth, 1);
  const std::vector<float> documents = random_vectors(kDocuments, kWidth, 2);
  std::vector<uint32_t> places(kDocuments);
  std::iota(places.begin(), places.end(), 0u);
  ThreadPool pool(2);
  ExactSearch search(queries, kWidth, kDepth, places, pool);
  search.add(0, std::span(documents).first(100 * kWidth));
  search.add(100, std::span(documents).subspan(100 * kWidth));
  for (size_t query = 0; query < kQueries; ++query) {
    std::vector<std::pair<double, uint32_t>> all;
    for (uint32_t document = 0; document < kDocuments; ++document) {
      double product = 0;
      for (size_t i = 0; i < kWidth; ++i) {
        product += double{queries[query * kWidth + i]} * double{documents[document * kWidth + i]};
      }
      all.emplace_back(-product, document);
    }
    std::ranges::sort(all);
    const std::vector<FoundDocument> ranking = search.ranking(query);
    ASSERT_EQ(ranking.size(), kDepth);
    for (size_t at = 0; at < kDepth; ++at) {
      EXPECT_EQ(ranking[at].document, all[at].second);
      EXPECT_NEAR(double{ranking[at].score}, -all[at].first, 1e-5);
    }
  }
}

TEST(ExactSearch, ResultsDoNotDependOnThreadsOrBlocks) {
  constexpr size_t kWidth = 64, kQueries = 5, kDocuments = 200;
  std::vector<float> documents = random_vectors(kDocuments, kWidth, 3);
  // Every document is there twice, far apart, so scores are equal only if their bits are.
  std::copy_n(documents.begin(), 100 * kWidth, documents.begin() + 100 * kWidth);
  std::vector<uint32_t> places(kDocuments);
  for (uint32_t i = 0; i < kDocuments; ++i) places[i] = kDocuments - 1 - i;
  const auto rankings = [&](int threads, size_t block) {
    ThreadPool pool(threads);
    ExactSearch search(random_vectors(kQueries, kWidth, 4), kWidth, 10, places, pool);
    for (size_t first = 0; first < kDocuments; first += block) {
      const size_t count = std::min(block, kDocuments - first);
      search.add(static_cast<uint32_t>(first),
                 std::span(documents).subspan(first * kWidth, count * kWidth));
    }
    std::vector<uint32_t> found;
    for (size_t query = 0; query < kQueries; ++query) {
      for (const FoundDocument& one : search.ranking(query)) found.push_back(one.document);
    }
    return found;
  };
  const std::vector<uint32_t> expected = rankings(1, 200);
  EXPECT_EQ(rankings(3, 7), expected);
  EXPECT_EQ(rankings(2, 1), expected);
  for (size_t i = 0; i < expected.size(); i += 2) {
    EXPECT_EQ(expected[i], expected[i + 1] + 100) << "the higher place comes first";
  }
}

TEST(ExactSearch, TakesWhatAnotherSearchFound) {
  const std::vector<uint32_t> places = {2, 1, 0};
  ThreadPool pool(1);
  ExactSearch search({1, 0}, 2, 2, places, pool);
  EXPECT_THAT(search.ranking(0), IsEmpty());
  search.add(0, std::vector<float>{1, 5});
  search.add_found(0, std::vector<FoundDocument>{{0.5f, 1}, {1, 2}});
  std::vector<uint32_t> found;
  for (const FoundDocument& one : search.ranking(0)) found.push_back(one.document);
  EXPECT_THAT(found, ElementsAre(2, 0));
}

}  // namespace
}  // namespace berth
