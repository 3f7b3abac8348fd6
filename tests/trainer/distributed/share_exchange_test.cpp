#include "trainer/distributed/share_exchange.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/rank_threads.h"

namespace berth {
namespace {

struct ShareCase {
  int ranks;
  DType wire;
};

class ShareExchangeTest : public testing::TestWithParam<ShareCase> {
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

INSTANTIATE_TEST_SUITE_P(Cases, ShareExchangeTest,
                         testing::Values(ShareCase{1, DType::kF32}, ShareCase{2, DType::kF32},
                                         ShareCase{3, DType::kF32}, ShareCase{7, DType::kF32},
                                         ShareCase{3, DType::kBF16}));

TEST_P(ShareExchangeTest, GivesEachRankTheSumsOfItsShareAlone) {
  const auto [size, wire] = GetParam();
  run_ranks(size, [&, size = size, wire = wire](Communicator& ranks) {
    ShareExchange exchange(ranks, wire);
    std::vector<float> gradient = elements_of(ranks.rank());
    exchange.scatter_sums(shares_of(gradient));
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

TEST_P(ShareExchangeTest, GathersWhatTheOwnersHaveToTheBit) {
  const auto [size, wire] = GetParam();
  run_ranks(size, [&, wire = wire](Communicator& ranks) {
    ShareExchange exchange(ranks, wire);
    std::vector<float> values = elements_of(ranks.rank());
    exchange.gather(shares_of(values));
    for (size_t i = 0; i < kElements; ++i) EXPECT_EQ(values[i], elements_of(owner_of(i))[i]) << i;
  });
}

// 2 + 4 bytes for each element, of which a rank keeps its share.
TEST(ShareExchange, SendsNoMoreThanItMust) {
  constexpr int kRanks = 2;
  constexpr size_t kShare = 500;
  run_ranks(kRanks, [&](Communicator& ranks) {
    std::vector<float> values(kRanks * kShare);
    const Shares shares = {{std::span(values).first(kShare)}, {std::span(values).last(kShare)}};
    ShareExchange exchange(ranks, DType::kBF16);
    exchange.scatter_sums(shares);
    exchange.gather(shares);
    EXPECT_EQ(ranks.sent_bytes(), (2 + 4) * kShare);
  });
}

}  // namespace
}  // namespace berth
