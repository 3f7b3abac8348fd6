#include "trainer/xla/layout/shapes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"
#include "trainer/xla/layout/row_packing.h"

namespace berth {
namespace {

TEST(Shapes, RowsHaveTheLongestSequence) {
  const BatchLimits many{.tokens = 65536, .sequences = 1000};
  EXPECT_EQ(row_length_for(many, 512, 1), 512);
  EXPECT_EQ(row_length_for(many, 65, 1), 72);
  EXPECT_EQ(row_length_for(many, 1, 1), 128);
  EXPECT_EQ(row_length_for(many, 40, 1), 120);
}

TEST(Shapes, EveryReplicaHasRows) {
  const BatchLimits limits{.tokens = 512, .sequences = 32};
  EXPECT_EQ(row_length_for(limits, 16, 1), 128);
  EXPECT_EQ(row_length_for(limits, 16, 2), 64);
  EXPECT_EQ(row_length_for(limits, 16, 16), 16);
}

TEST(Shapes, ThereAreSixAtMostAndTheyGrow) {
  const auto shapes = batch_shapes({.tokens = 32 * 128, .sequences = 32}, 128, 1);
  std::vector<int64_t> rows;
  rows.reserve(shapes.size());
  for (const BatchShape& shape : shapes) rows.push_back(shape.rows);
  EXPECT_EQ(rows, (std::vector<int64_t>{8, 12, 16, 20, 24, 32}));
  EXPECT_EQ(shapes.back().sequences, 32);
  EXPECT_EQ(shapes.front().row_length, 128);
}

TEST(Shapes, OfATokenBudgetAreALittleLargerThanFullRows) {
  const auto shapes = batch_shapes({.tokens = 4096, .sequences = 1000}, 128, 1);
  ASSERT_EQ(shapes.size(), 6u);
  EXPECT_EQ(shapes[1].rows, 32);
  EXPECT_EQ(shapes[2].rows, 36);
  EXPECT_EQ(full_rows({.tokens = 4096, .sequences = 1000}, 128, 4), 8);
}

TEST(Shapes, OneRowIsOneShape) {
  const auto shapes = batch_shapes({.tokens = 8, .sequences = 1}, 8, 1);
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(shapes[0], (BatchShape{.rows = 1, .row_length = 8, .sequences = 1, .masked = 8}));
}

TEST(Shapes, ReplicasShareTheRowsAndTheMaskedTokens) {
  const auto shapes = batch_shapes({.tokens = 32 * 128, .sequences = 32, .masked = 600}, 128, 4);
  EXPECT_EQ(shapes.back().rows, 8);
  EXPECT_EQ(shapes.back().masked, 600);
  EXPECT_EQ(shapes[shapes.size() - 2].masked, 225);
}

TEST(Shapes, TheSmallestThatHasRoomIsTaken) {
  const std::vector<BatchShape> shapes = {{.rows = 1, .row_length = 8, .sequences = 1},
                                          {.rows = 4, .row_length = 8, .sequences = 4}};
  EXPECT_EQ(smallest_shape(shapes, {.rows = 1, .sequences = 1}).rows, 1);
  EXPECT_EQ(smallest_shape(shapes, {.rows = 1, .sequences = 2}).rows, 4);
  EXPECT_THAT([&] { smallest_shape(shapes, {.rows = 5}); }, ThrowsCode(Code::kInternal));
}

// Batches of a token budget, whose sequences are as long as chance makes them.
TEST(Shapes, EveryBatchWithinTheLimitsFitsTheLargest) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const int32_t longest = 1 + static_cast<int32_t>(random() % 200);
    const int32_t shortest = 1 + static_cast<int32_t>(random() % static_cast<uint32_t>(longest));
    const BatchLimits limits{.tokens = 2000, .sequences = 100};
    std::vector<int32_t> ends = {0};
    while (static_cast<int64_t>(ends.size()) <= limits.sequences) {
      const auto spread = static_cast<uint32_t>(longest - shortest + 1);
      const int32_t end = ends.back() + shortest + static_cast<int32_t>(random() % spread);
      if (end > limits.tokens) break;
      ends.push_back(end);
    }
    const int64_t rows = pack_rows(ends, row_length_for(limits, longest, 1)).rows;
    const auto shapes = batch_shapes(limits, longest, 1);
    ASSERT_LE(rows, shapes.back().rows) << longest << " " << shortest;
    ASSERT_LE(shapes.size(), 6u);
    ASSERT_GE(shapes.back().sequences, static_cast<int64_t>(ends.size()) - 1);
  }
}

}  // namespace
}  // namespace berth
