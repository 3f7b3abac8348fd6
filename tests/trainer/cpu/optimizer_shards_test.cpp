#include "trainer/cpu/optimizer_shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace berth {
namespace {

// A table of 70 rows, whose 5 blocks are dealt out, and parameters of several depths behind one
// that does not train.
std::vector<ParameterSpec> specs() {
  return {{.name = "frozen", .shape = {9}, .trains = false, .depth = 0},
          {.name = "words", .shape = {70, 3}, .is_looked_up = true, .depth = 0},
          {.name = "norm", .shape = {3}, .depth = 0},
          {.name = "layer 1", .shape = {10, 3}, .depth = 1},
          {.name = "bias 1", .shape = {10}, .depth = 1},
          {.name = "layer 2", .shape = {11, 3}, .depth = 2},
          {.name = "head", .shape = {2, 3}, .depth = 3}};
}
constexpr int64_t kTrained = 210 + 3 + 30 + 10 + 33 + 6, kTable = 210;

class OptimizerShardsTest : public testing::TestWithParam<int64_t> {};

INSTANTIATE_TEST_SUITE_P(Ranks, OptimizerShardsTest, testing::Values(1, 2, 3, 4, 40));

TEST_P(OptimizerShardsTest, GiveEachElementToOneRankAndOnePlace) {
  const OptimizerShards shards(specs(), GetParam(), /*bucket_elements=*/25);
  int64_t next = 0;
  std::map<int64_t, std::vector<bool>> used;
  for (const OptimizerShards::Piece& piece : shards.pieces()) {
    EXPECT_EQ(piece.begin, next);
    next += piece.count;
    std::vector<bool>& block = used[piece.rank];
    block.resize(static_cast<size_t>(shards.elements(piece.rank)));
    for (int64_t i = piece.at; i < piece.at + piece.count; ++i) {
      EXPECT_FALSE(block.at(static_cast<size_t>(i)));
      block[static_cast<size_t>(i)] = true;
    }
  }
  EXPECT_EQ(next, kTrained);
  int64_t all = 0;
  for (int64_t rank = 0; rank < GetParam(); ++rank) {
    all += shards.elements(rank);
    EXPECT_LE(shards.elements(rank), shards.elements(0));
  }
  EXPECT_EQ(all, kTrained);
}

TEST_P(OptimizerShardsTest, OwnWhatTheBucketsScatterToThem) {
  const OptimizerShards shards(specs(), GetParam(), /*bucket_elements=*/25);
  int64_t elements = 0, depth = 3;
  for (const OptimizerShards::Bucket& bucket : shards.buckets()) {
    EXPECT_LE(bucket.depth, depth);
    depth = bucket.depth;
    for (size_t rank = 0; rank < bucket.shares.size(); ++rank) {
      for (const ElementRange& range : bucket.shares[rank]) {
        elements += range.count;
        for (const OptimizerShards::Piece& piece : shards.pieces(range)) {
          EXPECT_EQ(piece.rank, static_cast<int64_t>(rank));
          EXPECT_GE(specs()[piece.parameter].depth, bucket.depth);
        }
      }
    }
  }
  EXPECT_EQ(elements, kTrained - kTable);
  ASSERT_EQ(shards.tables().size(), 1u);
  for (int64_t row = 0; row < 70; ++row) {
    for (const OptimizerShards::Piece& piece : shards.pieces({row * 3, 3})) {
      EXPECT_EQ(piece.rank, shards.owner_of_row(row));
      EXPECT_GE(piece.at, shards.table_begin(piece.rank));
    }
  }
}

TEST(OptimizerShards, CutPiecesToARange) {
  const OptimizerShards shards(specs(), 2, /*bucket_elements=*/25);
  for (int64_t begin = 0; begin < kTrained; begin += 7) {
    int64_t next = begin;
    const int64_t end = std::min(kTrained, begin + 100);
    for (const OptimizerShards::Piece& piece : shards.pieces({begin, end - begin})) {
      EXPECT_EQ(piece.begin, next);
      next += piece.count;
      const auto whole = std::ranges::find_if(shards.pieces(), [&](const auto& each) {
        return each.begin <= piece.begin && piece.begin < each.begin + each.count;
      });
      EXPECT_EQ(piece.at - whole->at, piece.begin - whole->begin);
      EXPECT_EQ(piece.rank, whole->rank);
    }
    EXPECT_EQ(next, end);
  }
  EXPECT_TRUE(shards.pieces({kTrained, 0}).empty());
}

}  // namespace
}  // namespace berth
