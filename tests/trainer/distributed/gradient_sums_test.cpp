#include "trainer/distributed/gradient_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/rank_threads.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// The gradient of one rank: numbers of many magnitudes and both signs.
std::vector<float> gradient_of(int rank, size_t size) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) {
    const double x = std::sin(static_cast<double>(i * 7 + 1) * (rank + 1.3));
    values[i] = static_cast<float>(x * std::pow(10.0, static_cast<double>(i % 9) - 4));
  }
  return values;
}

struct Case {
  int ranks;
  DType wire;
  int64_t bucket;
};

class GradientReducerTest : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Cases, GradientReducerTest,
                         testing::Values(Case{1, DType::kF32, 100}, Case{2, DType::kF32, 64},
                                         Case{3, DType::kF32, 1000}, Case{4, DType::kF32, 7},
                                         Case{2, DType::kBF16, 1000}, Case{3, DType::kBF16, 50}));

TEST_P(GradientReducerTest, SumsWithinTheStatedBound) {
  const auto [size, wire, bucket] = GetParam();
  constexpr size_t kElements = 777;
  std::vector<std::vector<float>> results(static_cast<size_t>(size));
  run_ranks(size, [&, wire = wire, bucket = bucket](Communicator& ranks) {
    std::vector<float> gradient = gradient_of(ranks.rank(), kElements);
    GradientReducer reducer(ranks, {.wire_dtype = wire, .bucket_elements = bucket});
    for (int update = 0; update < 2; ++update) {
      gradient = gradient_of(ranks.rank(), kElements);
      reducer.add(std::span(gradient).subspan(500));  // the deepest layer first
      reducer.add(std::span(gradient).subspan(3, 497));
      reducer.add(std::span(gradient).first(3));
      reducer.finish();
    }
    results[static_cast<size_t>(ranks.rank())] = gradient;
  });
  for (const std::vector<float>& each : results) EXPECT_EQ(each, results[0]);
  for (size_t i = 0; i < kElements; ++i) {
    double sum = 0, magnitude = 0;
    for (int r = 0; r < size; ++r) {
      const auto part = static_cast<double>(gradient_of(r, kElements)[i]);
      sum += part;
      magnitude += std::abs(part);
    }
    const double unit = wire == DType::kBF16 ? std::pow(2, -8) : 0;
    const double smaller = (std::pow(2, -16) + std::pow(2, -22)) * magnitude;
    EXPECT_LE(std::abs(static_cast<double>(results[0][i]) - sum),
              unit * (std::abs(sum) + magnitude) + smaller)
        << i;
  }
}

// What is already rounded travels as it is, in one piece or in several, and the sums are rounded
// once.
TEST(GradientReducer, SumsWhatIsRoundedAsIfItRoundedThat) {
  constexpr size_t kElements = 780;
  for (const int size : {1, 2, 3}) {
    for (const int64_t bucket : {20, 60, 1000}) {
      for (const size_t gap : {size_t{0}, size_t{5}}) {
        run_ranks(size, [&](Communicator& ranks) {
          std::vector<float> gradient = gradient_of(ranks.rank(), kElements);
          std::vector<Bf16> rounded(kElements);
          encode(gradient, rounded.data());
          GradientReducer reducer(ranks, {.bucket_elements = bucket});
          for (int update = 0; update < 2; ++update) {
            reducer.add(std::span(rounded).first(300));
            reducer.add(std::span(gradient).first(300));
            reducer.add(std::span(gradient).subspan(300));
            reducer.add(std::span(rounded).subspan(300 + gap));
            reducer.finish();
            for (size_t i = 0; i < kElements; ++i) {
              if (i >= 300 && i < 300 + gap) continue;
              ASSERT_EQ(decode(rounded[i]), gradient[i]) << i;
            }
          }
        });
      }
    }
  }
}

TEST(GradientReducer, RefusesToSendInFp32WhatIsRounded) {
  run_ranks(1, [](Communicator& ranks) {
    std::vector<Bf16> rounded(3);
    GradientReducer reducer(ranks, {.wire_dtype = DType::kF32});
    EXPECT_THAT([&] { reducer.add(rounded); }, ThrowsCode(Code::kInternal, "rounded"));
  });
}

TEST(GradientReducer, SendsNoMoreThanItMust) {
  for (const DType wire : {DType::kF32, DType::kBF16}) {
    for (const int size : {2, 3}) {
      run_ranks(size, [&](Communicator& ranks) {
        std::vector<float> gradient(777);
        GradientReducer reducer(ranks, {.wire_dtype = wire, .bucket_elements = 777});
        reducer.add(gradient);
        reducer.finish();
        const double least = 2.0 * (size - 1) / size * 777 * static_cast<double>(size_of(wire));
        EXPECT_LE(static_cast<double>(ranks.sent_bytes()), least * 1.02);
      });
    }
  }
}

// The embeddings: each rank has looked up other rows.
TEST_P(GradientReducerTest, SumsTheRowsThatAnyRankHasMarked) {
  const auto [size, wire, bucket] = GetParam();
  constexpr size_t kRows = 29, kColumns = 5;
  constexpr int32_t kMark = 1, kOther = 2;
  run_ranks(size, [&, wire = wire, bucket = bucket](Communicator& ranks) {
    std::vector<float> table(kRows * kColumns, 0.0f), before(3, 1.0f), after(3, 2.0f);
    std::vector<int32_t> marks(kRows, 0);
    for (const size_t row : {size_t{4}, static_cast<size_t>(10 + ranks.rank())}) {
      marks[row] |= kMark;
      std::fill_n(table.begin() + static_cast<std::ptrdiff_t>(row * kColumns), kColumns, 0.5f);
    }
    marks[20] |= kOther;
    GradientReducer reducer(ranks, {.wire_dtype = wire, .bucket_elements = bucket});
    reducer.add(before);
    reducer.add_marked_rows(table, kColumns, marks, kMark);
    reducer.add(after);
    reducer.finish();
    for (size_t row = 0; row < kRows; ++row) {
      const bool is_one_ranks = row >= 10 && row < 10 + static_cast<size_t>(size);
      const float expected = row == 4 ? 0.5f * static_cast<float>(size) : is_one_ranks ? 0.5f : 0;
      EXPECT_EQ(table[row * kColumns + 2], expected) << row;
      EXPECT_EQ((marks[row] & kMark) != 0, expected != 0) << row;
    }
    EXPECT_EQ(marks[20], kOther);
    EXPECT_EQ(before[1], static_cast<float>(size));
    EXPECT_EQ(after[1], 2.0f * static_cast<float>(size));
  });
}

TEST_P(GradientReducerTest, KeepsWhatIsNotFinite) {
  const auto [size, wire, bucket] = GetParam();
  run_ranks(size, [&, wire = wire, bucket = bucket](Communicator& ranks) {
    std::vector<float> gradient(10, 1.0f);
    if (ranks.rank() == 0) {
      gradient[2] = std::numeric_limits<float>::quiet_NaN();
      gradient[3] = std::numeric_limits<float>::infinity();
      // A signalling one, whose upper half alone would be infinity.
      gradient[4] = std::bit_cast<float>(0x7f800001u);
    }
    GradientReducer reducer(ranks, {.wire_dtype = wire, .bucket_elements = bucket});
    reducer.add(gradient);
    reducer.finish();
    EXPECT_TRUE(std::isnan(gradient[2]));
    EXPECT_TRUE(std::isinf(gradient[3]));
    EXPECT_TRUE(std::isnan(gradient[4]));
    EXPECT_EQ(gradient[5], static_cast<float>(size));
  });
}

struct ShareCase {
  int ranks;
  DType wire;
};

class OwnSharesTest : public testing::TestWithParam<ShareCase> {
 protected:
  static constexpr size_t kElements = 101;

  static std::vector<float> elements_of(int rank) {
    std::vector<float> values(kElements);
    for (size_t i = 0; i < kElements; ++i) {
      values[i] = std::sin(static_cast<float>(i * 7 + 1) * (static_cast<float>(rank) + 1.3f));
    }
    return values;
  }
  // Element i belongs to rank i % 5, if there is one, and else to rank 0. So shares are made of
  // many parts and have different sizes.
  int owner_of(size_t i) const {
    const int rank = static_cast<int>(i % 5);
    return rank < GetParam().ranks ? rank : 0;
  }
  Shares shares_of(std::vector<float>& values) const {
    Shares shares(static_cast<size_t>(GetParam().ranks));
    for (size_t i = 0; i < kElements; ++i) {
      shares[static_cast<size_t>(owner_of(i))].push_back(std::span(values).subspan(i, 1));
    }
    return shares;
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, OwnSharesTest,
                         testing::Values(ShareCase{1, DType::kF32}, ShareCase{2, DType::kF32},
                                         ShareCase{3, DType::kF32}, ShareCase{7, DType::kF32},
                                         ShareCase{3, DType::kBF16}));

TEST_P(OwnSharesTest, GivesEachRankTheSumsOfItsShareAlone) {
  const auto [size, wire] = GetParam();
  run_ranks(size, [&, size = size, wire = wire](Communicator& ranks) {
    GradientReducer reducer(ranks, {.wire_dtype = wire});
    std::vector<float> gradient = elements_of(ranks.rank());
    reducer.add_shares(shares_of(gradient));
    reducer.finish();
    for (size_t i = 0; i < kElements; ++i) {
      float sum = 0, magnitude = 0;
      for (int r = 0; r < size; ++r) {
        sum += elements_of(r)[i];
        magnitude += std::abs(elements_of(r)[i]);
      }
      const bool is_own = owner_of(i) == ranks.rank();
      const float tolerance = wire == DType::kBF16 ? std::ldexp(magnitude, -8) : 0;
      EXPECT_NEAR(gradient[i], is_own ? sum : 0, is_own ? tolerance : 0) << i;
    }
  });
}

TEST_P(OwnSharesTest, GathersWhatTheOwnersHaveToTheBit) {
  const auto [size, wire] = GetParam();
  run_ranks(size, [&, wire = wire](Communicator& ranks) {
    GradientReducer reducer(ranks, {.wire_dtype = wire});
    std::vector<float> values = elements_of(ranks.rank());
    reducer.gather(shares_of(values));
    for (size_t i = 0; i < kElements; ++i) EXPECT_EQ(values[i], elements_of(owner_of(i))[i]) << i;
  });
}

// 2 + 4 bytes for each element, of which a rank keeps its share.
TEST(OwnShares, TakeNoMoreBytesThanTheyMust) {
  constexpr int kRanks = 2;
  constexpr size_t kShare = 500;
  run_ranks(kRanks, [&](Communicator& ranks) {
    std::vector<float> values(kRanks * kShare);
    const Shares shares = {{std::span(values).first(kShare)}, {std::span(values).last(kShare)}};
    GradientReducer reducer(ranks, {.wire_dtype = DType::kBF16});
    reducer.add_shares(shares);
    reducer.finish();
    reducer.gather(shares);
    EXPECT_EQ(ranks.sent_bytes(), (2 + 4) * kShare);
  });
}

// Makes `updates` updates, in which each rank takes its time of `seconds`. Returns the rank that is
// noticed then; -1: none.
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
