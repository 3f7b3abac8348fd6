#include "trainer/distributed/slow_rank.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

// The rank that is noticed after so many updates of these times; -1: none.
int64_t noticed_after(SlowRank& slow, int updates, const std::vector<double>& seconds) {
  int64_t rank = -1;
  for (int i = 0; i < updates; ++i) {
    if (const auto found = slow.add(seconds)) rank = found->rank;
  }
  return rank;
}

TEST(SlowRank, IsNoticedOnceItIsSlowForAWhile) {
  SlowRank slow;
  EXPECT_EQ(noticed_after(slow, 9, {1, 3, 1}), -1);
  EXPECT_EQ(noticed_after(slow, 1, {1, 3, 1}), 1);
  EXPECT_EQ(noticed_after(slow, 50, {1, 3, 1}), -1);  // it was said
  EXPECT_EQ(noticed_after(slow, 1, {1, 1, 1}), -1);
  EXPECT_EQ(noticed_after(slow, 10, {1, 3, 1}), 1);
}

TEST(SlowRank, IsOneOfTwo) {
  SlowRank slow;
  EXPECT_EQ(noticed_after(slow, 10, {5, 2}), 0);
}

TEST(SlowRank, IsNoneOfRanksThatTakeTurns) {
  SlowRank slow;
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(noticed_after(slow, 1, {1, 4, 1}), -1);
    EXPECT_EQ(noticed_after(slow, 1, {4, 1, 1}), -1);
  }
  EXPECT_EQ(noticed_after(slow, 30, {1, 1.9, 1}), -1);
  EXPECT_EQ(noticed_after(slow, 30, {0, 0, 1}), -1);  // most have no examples
  EXPECT_EQ(noticed_after(slow, 30, {1}), -1);
}

}  // namespace
}  // namespace berth
