#include "trainer/data/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "trainer/data/permutation.h"

namespace berth {
namespace {

std::vector<uint32_t> permutation(int64_t size, uint64_t seed, int64_t epoch, uint32_t stream) {
  std::vector<uint32_t> order;
  permute(size, seed, epoch, stream, order);
  return order;
}

std::vector<int64_t> take(Sampler& sampler, DataCursor& cursor, int64_t count) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(sampler.next(cursor));
  return rows;
}

std::vector<int64_t> epoch_of(Sampler sampler, int64_t epoch, int64_t rows) {
  DataCursor cursor{.epoch = epoch};
  return take(sampler, cursor, rows);
}

bool is_permutation(std::vector<int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  std::vector<int64_t> all(rows.size());
  std::iota(all.begin(), all.end(), 0);
  return rows == all;
}

TEST(Permutation, HasEveryNumberOnce) {
  for (const int64_t size : {0, 1, 2, 3, 100, 1001}) {
    const auto order = permutation(size, 42, 0, 0);
    EXPECT_TRUE(is_permutation({order.begin(), order.end()})) << size;
  }
}

TEST(Permutation, DependsOnlyOnSeedEpochAndStream) {
  const auto order = permutation(100, 42, 3, 5);
  EXPECT_EQ(permutation(100, 42, 3, 5), order);
  EXPECT_NE(permutation(100, 43, 3, 5), order);
  EXPECT_NE(permutation(100, 42 + (uint64_t{1} << 32), 3, 5), order);
  EXPECT_NE(permutation(100, 42, 4, 5), order);
  EXPECT_NE(permutation(100, 42, 3, 6), order);
}

TEST(Permutation, EveryOrderIsEquallyLikely) {
  std::map<std::vector<uint32_t>, int> seen;
  for (int64_t epoch = 0; epoch < 6000; ++epoch) ++seen[permutation(3, 1, epoch, 0)];
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Sampler, GivesEveryRowOnceAnEpoch) {
  for (const int64_t block_rows : {1, 4, 10, 16, 100}) {
    for (const int64_t epoch : {0, 1, 2}) {
      EXPECT_TRUE(is_permutation(epoch_of(Sampler(61, block_rows, 42), epoch, 61))) << block_rows;
    }
  }
}

TEST(Sampler, ShufflesAnewForEveryEpochAndSeed) {
  const auto first = epoch_of(Sampler(50, 50, 1), 0, 50);
  EXPECT_NE(epoch_of(Sampler(50, 50, 1), 1, 50), first);
  EXPECT_NE(epoch_of(Sampler(50, 50, 2), 0, 50), first);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
}

TEST(Sampler, FinishesABlockBeforeTheNext) {
  const auto rows = epoch_of(Sampler(100, 10, 7), 0, 100);
  std::vector<int64_t> blocks;
  for (size_t i = 0; i < rows.size(); i += 10) {
    blocks.push_back(rows[i] / 10);
    for (size_t j = i; j < i + 10; ++j) EXPECT_EQ(rows[j] / 10, blocks.back());
    EXPECT_FALSE(std::is_sorted(rows.begin() + static_cast<ptrdiff_t>(i),
                                rows.begin() + static_cast<ptrdiff_t>(i) + 10));
  }
  EXPECT_FALSE(std::is_sorted(blocks.begin(), blocks.end()));
}

TEST(Sampler, ContinuesFromAnyCursor) {
  constexpr int64_t kRows = 23, kBlock = 5;
  Sampler uninterrupted(kRows, kBlock, 3);
  DataCursor cursor;
  std::vector<DataCursor> cursors;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 3 * kRows; ++i) {
    cursors.push_back(cursor);
    rows.push_back(uninterrupted.next(cursor));
  }
  EXPECT_EQ(cursor, (DataCursor{.epoch = 3}));
  for (size_t i = 0; i < cursors.size(); ++i) {
    Sampler resumed(kRows, kBlock, 3);
    DataCursor at = cursors[i];
    EXPECT_EQ(take(resumed, at, static_cast<int64_t>(rows.size() - i)),
              std::vector<int64_t>(rows.begin() + static_cast<ptrdiff_t>(i), rows.end()))
        << "from row " << i;
  }
}

TEST(Sampler, HoldsThePlacesOfItsRows) {
  Sampler sampler(10, 4, 1);  // blocks of 4, 4 and 2 rows, in another order each epoch
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    int64_t held = 0;
    for (int64_t block = -1; block < 5; ++block) {
      for (int64_t index = -1; index < 6; ++index) {
        held += sampler.holds({.epoch = epoch, .block = block, .index = index});
      }
    }
    EXPECT_EQ(held, 10);
  }
  EXPECT_FALSE(sampler.holds({.epoch = -1}));
  EXPECT_FALSE(sampler.holds({.block = INT64_MAX}));
  EXPECT_FALSE(sampler.holds({.index = INT64_MAX}));
}

TEST(Sampler, CountsEpochsByRows) {
  Sampler sampler(10, 4, 7);  // the last block has two
  DataCursor cursor;
  for (int64_t passed = 0; passed < 30; ++passed) {
    EXPECT_DOUBLE_EQ(sampler.epochs_until(cursor), static_cast<double>(passed) / 10) << passed;
    sampler.next(cursor);
  }
}

TEST(Sampler, OneRowComesAgainAndAgain) {
  Sampler sampler(1, 1, 42);
  DataCursor cursor;
  EXPECT_THAT(take(sampler, cursor, 3), testing::ElementsAre(0, 0, 0));
  EXPECT_EQ(cursor, (DataCursor{.epoch = 3}));
}

}  // namespace
}  // namespace berth
