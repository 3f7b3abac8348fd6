#include "trainer/data/source_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "trainer/data/batcher.h"

namespace berth {
namespace {

using testing::ElementsAre;

constexpr int64_t kBatch = 4;

// Which source of 10 and 6 rows an update is of. All rows must be of the same one.
int source_of_update(std::span<const int64_t> rows) {
  std::set<int> sources;
  for (const int64_t row : rows) sources.insert(row < 10 ? 0 : 1);
  EXPECT_EQ(sources.size(), 1u);
  return *sources.begin();
}

SourceOrder order_of(double second_weight, SourceMix mix = SourceMix::kProportional,
                     bool drops = false) {
  return {{{.rows = 10}, {.rows = 6, .weight = second_weight}}, mix, kBatch, drops, /*seed=*/7};
}

std::vector<int> sources_of_epoch(SourceOrder& order, int64_t epoch) {
  std::vector<int> sources;
  for (int64_t update = 0; update < order.updates(); ++update) {
    sources.push_back(source_of_update(order.rows(epoch, update)));
  }
  return sources;
}

// How often each row is read in some epochs.
std::map<int64_t, int> counts_of(SourceOrder& order, int64_t epochs) {
  std::map<int64_t, int> counts;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (int64_t update = 0; update < order.updates(); ++update) {
      for (const int64_t row : order.rows(epoch, update)) ++counts[row];
    }
  }
  return counts;
}

TEST(SourceOrder, AnEpochReadsEachRowOnceAndMixesTheSources) {
  SourceOrder order = order_of(1);
  EXPECT_EQ(order.updates(), 5);
  const std::map<int64_t, int> counts = counts_of(order, 1);
  EXPECT_EQ(counts.size(), 16u);
  for (const auto& [row, count] : counts) EXPECT_EQ(count, 1) << row;
  std::set<std::vector<int>> schedules;
  for (int64_t epoch = 0; epoch < 8; ++epoch) schedules.insert(sources_of_epoch(order, epoch));
  EXPECT_GT(schedules.size(), 2u);
}

TEST(SourceOrder, AWeightSaysHowOftenASourceIsRead) {
  SourceOrder thrice = order_of(3);
  EXPECT_EQ(thrice.updates(), 3 + 6);
  for (const auto& [row, count] : counts_of(thrice, 2)) EXPECT_EQ(count, row < 10 ? 2 : 6) << row;
  // Half of the second source's two updates: each epoch goes on where the last one ended.
  SourceOrder half = order_of(0.5);
  EXPECT_EQ(half.updates(), 3 + 1);
  for (const auto& [row, count] : counts_of(half, 2)) EXPECT_EQ(count, row < 10 ? 2 : 1) << row;
  SourceOrder little = order_of(0.01);
  EXPECT_EQ(little.updates(), 3 + 1) << "each source is read a little";
}

TEST(SourceOrder, SourcesTakeTurns) {
  SourceOrder order = order_of(5, SourceMix::kRoundRobin);
  EXPECT_THAT(sources_of_epoch(order, 0), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(sources_of_epoch(order, 1), ElementsAre(0, 1, 0, 1));
  const std::map<int64_t, int> counts = counts_of(order, 3);  // two passes over the first source
  for (const auto& [row, count] : counts) EXPECT_EQ(count, row < 10 ? 2 : 3) << row;
}

TEST(SourceOrder, RowsThatFillNoUpdateMayBeLeftOut) {
  SourceOrder order = order_of(1, SourceMix::kProportional, /*drops=*/true);
  EXPECT_EQ(order.updates(), 2 + 1);
  for (int64_t update = 0; update < order.updates(); ++update) {
    EXPECT_EQ(std::ssize(order.rows(0, update)), kBatch);
  }
  SourceOrder small({{.rows = 3}, {.rows = 8}}, SourceMix::kProportional, kBatch, true, 7);
  EXPECT_EQ(small.updates(), 1 + 2) << "the only update of a source stays";
}

TEST(SourceOrder, APlaceHasTheSameRowsWhateverWasReadBefore) {
  SourceOrder order = order_of(2);
  std::vector<std::vector<int64_t>> read;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    for (int64_t update = 0; update < order.updates(); ++update) {
      const std::span<const int64_t> rows = order.rows(epoch, update);
      read.emplace_back(rows.begin(), rows.end());
    }
  }
  SourceOrder other = order_of(2);
  for (size_t i = read.size(); i-- > 0;) {
    const auto updates = static_cast<size_t>(other.updates());
    const std::span<const int64_t> rows =
        other.rows(static_cast<int64_t>(i / updates), static_cast<int64_t>(i % updates));
    EXPECT_EQ(std::vector(rows.begin(), rows.end()), read[i]) << i;
  }
}

TEST(SourceOrder, ASamplerStopsAtTheEndOfEachUpdate) {
  Sampler sampler(order_of(1));
  SourceOrder order = order_of(1);
  DataCursor cursor;
  for (int64_t update = 0; update < order.updates(); ++update) {
    EXPECT_EQ(cursor, (DataCursor{0, update, 0}));
    EXPECT_DOUBLE_EQ(sampler.epochs_until(cursor), static_cast<double>(update) / 5);
    for (const int64_t row : order.rows(0, update)) {
      EXPECT_TRUE(sampler.holds(cursor));
      EXPECT_EQ(sampler.next(cursor), row);
    }
  }
  EXPECT_EQ(cursor, (DataCursor{1, 0, 0}));
  EXPECT_FALSE(sampler.holds({0, 0, kBatch}));
  EXPECT_FALSE(sampler.holds({0, 5, 0}));
}

}  // namespace
}  // namespace berth
