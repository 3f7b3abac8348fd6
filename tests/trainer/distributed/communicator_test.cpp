#include "trainer/distributed/communicator.h"

#include <gloo/common/logging.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <latch>
#include <thread>

#include "storage/base/error.h"
#include "tests/support/rank_threads.h"
#include "tests/support/throws_code.h"

#ifndef GTEST_FLAG_SET  // before GoogleTest 1.12
#define GTEST_FLAG_SET(name, value) (void)(::testing::GTEST_FLAG(name) = value)
#endif

namespace berth {
namespace {

class CommunicatorTest : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Sizes, CommunicatorTest, testing::Values(1, 2, 3, 5));

TEST_P(CommunicatorTest, NumbersItsRanks) {
  const int size = GetParam();
  std::vector<int> counts(static_cast<size_t>(size), 0);
  run_ranks(size, [&](Communicator& ranks) {
    EXPECT_EQ(ranks.size(), size);
    ++counts[static_cast<size_t>(ranks.rank())];
  });
  EXPECT_EQ(counts, std::vector<int>(static_cast<size_t>(size), 1));
}

TEST_P(CommunicatorTest, SendsPartRToRankR) {
  const int size = GetParam();
  run_ranks(size, [&](Communicator& ranks) {
    std::vector<int32_t> send, receive(static_cast<size_t>(2 * size));
    for (int to = 0; to < size; ++to) {
      send.insert(send.end(), {100 * ranks.rank() + to, -ranks.rank()});
    }
    ranks.all_to_all(std::as_bytes(std::span(send)), std::as_writable_bytes(std::span(receive)));
    for (int from = 0; from < size; ++from) {
      EXPECT_EQ(receive[static_cast<size_t>(2 * from)], 100 * from + ranks.rank());
      EXPECT_EQ(receive[static_cast<size_t>(2 * from + 1)], -from);
    }
    EXPECT_EQ(ranks.sent_bytes(), static_cast<uint64_t>(8 * (size - 1)));
  });
}

TEST_P(CommunicatorTest, GathersTheBytesOfAllRanks) {
  const int size = GetParam();
  run_ranks(size, [&](Communicator& ranks) {
    const std::string own(static_cast<size_t>(3 * ranks.rank()),
                          static_cast<char>('a' + ranks.rank()));
    const auto all = gather_bytes(ranks, as_bytes(own));
    ASSERT_EQ(all.size(), static_cast<size_t>(size));
    for (int r = 0; r < size; ++r) {
      EXPECT_EQ(as_text(all[static_cast<size_t>(r)]),
                std::string(static_cast<size_t>(3 * r), static_cast<char>('a' + r)));
    }
    const std::vector<double> values = {0.5 * ranks.rank(), 7};
    const auto rows = gather_values(ranks, values);
    for (int r = 0; r < size; ++r) {
      EXPECT_EQ(rows[static_cast<size_t>(r)], (std::vector<double>{0.5 * r, 7}));
    }
  });
}

TEST_P(CommunicatorTest, BroadcastsFromRank0) {
  run_ranks(GetParam(), [&](Communicator& ranks) {
    const std::string own = ranks.rank() == 0 ? "the state of rank 0" : "x";
    EXPECT_EQ(as_text(broadcast_bytes(ranks, as_bytes(own))), "the state of rank 0");
    EXPECT_TRUE(broadcast_bytes(ranks, {}).empty());
  });
}

TEST_P(CommunicatorTest, AgreesOnWhatIsSoOnAnyRank) {
  const int last = GetParam() - 1;
  run_ranks(GetParam(), [&](Communicator& ranks) {
    EXPECT_FALSE(any_rank(ranks, false));
    EXPECT_TRUE(any_rank(ranks, ranks.rank() == last));
  });
}

TEST(Communicator, SaysThatARankIsLost) {
  EXPECT_THAT(
      [] {
        std::latch connected(2);
        run_ranks(2, [&](Communicator& ranks) {
          connected.arrive_and_wait();
          if (ranks.rank() == 1) throw Error(Code::kBadData, "this rank ends");
          any_rank(ranks, false);
        });
      },
      ThrowsCode(Code::kPeerLost));
}

// As Gloo's thread throws where getpeername() fails after accept().
TEST(CommunicatorDeathTest, EndsTheProcessWhereAThreadOfGlooThrows) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        end_process_where_gloo_throws([](const Error& error) { ::_exit(exit_code(error.code())); });
        std::jthread([] {
          throw ::gloo::EnforceNotMet("address.cc", 107, "", "getpeername");
        }).join();
      },
      testing::ExitedWithCode(11), "");
}

// Connects two ranks, whose proofs are the texts of `proof` for (rank, from, to).
void connect_two(StoreInMemory& store,
                 const std::function<std::string(int rank, int from, int to)>& proof) {
  std::vector<std::exception_ptr> failures(2);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          const auto ranks =
              connect_ranks({.rank = rank,
                             .size = 2,
                             .proof = [&](int from, int to) { return proof(rank, from, to); }},
                            store);
        } catch (...) {
          failures[static_cast<size_t>(rank)] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

TEST(Communicator, RanksShowThatTheyAreThemselves) {
  StoreInMemory store, again;
  connect_two(store, [](int, int from, int to) { return std::to_string(10 * from + to + 10); });
  EXPECT_THAT(
      [&] {
        connect_two(again, [](int rank, int from, int) {
          return std::to_string(rank == 1 && from == 1 ? 8 : from);
        });
      },
      ThrowsCode(Code::kPeerLost, "a stranger"));
}

// Gloo copies a whole sockaddr_storage, of which the system fills the first bytes.
TEST(Communicator, TellsNoMemoryThatNothingHasWritten) {
  StoreInMemory store;
  connect_two(store, [](int, int, int) { return "proof"; });
  for (const char* rank : {"0", "1"}) {
    const std::vector<std::byte> address = store.get(rank);
    ASSERT_EQ(address.size(), sizeof(::sockaddr_storage) + 8) << "Gloo has another layout";
    for (size_t i = sizeof(::sockaddr_in); i < sizeof(::sockaddr_storage); ++i) {
      EXPECT_EQ(address[i], std::byte{0}) << i;
    }
  }
}

TEST(Communicator, RefusesAnAddressOfAnotherHost) {
  StoreInMemory store;
  EXPECT_THAT([&] { connect_ranks({.rank = 0, .size = 2, .address = "192.0.2.1"}, store); },
              ThrowsCode(Code::kUsage));
}

// As rank 0 reads from others while all of them train.
TEST_P(CommunicatorTest, SendsMessagesBesideCollectives) {
  constexpr int kMessages = 50;
  run_ranks(GetParam(), [&](Communicator& ranks) {
    const uint64_t channel = ranks.new_channel();
    const auto number = [](int rank, int i) { return 1000 * rank + i; };
    std::jthread beside([&] {
      for (int i = 0; i < kMessages; ++i) {
        for (int rank = 1; rank < ranks.size(); ++rank) {
          int value = number(rank, i);
          const auto bytes = std::as_writable_bytes(std::span(&value, 1));
          if (ranks.rank() == rank) ranks.send(0, channel, bytes);
          if (ranks.rank() > 0) continue;
          value = -1;
          EXPECT_TRUE(ranks.receive(rank, channel, bytes));
          EXPECT_EQ(value, number(rank, i));
        }
      }
    });
    for (int i = 0; i < kMessages; ++i) EXPECT_EQ(any_rank(ranks, i % 2 == 0), i % 2 == 0);
  });
}

TEST(Communicator, StopsWaitingForAMessage) {
  run_ranks(2, [](Communicator& ranks) {
    EXPECT_EQ(ranks.new_channel(), 0u);
    const uint64_t channel = ranks.new_channel();
    std::jthread waits([&](const std::stop_token& stop) {
      std::byte byte{};
      EXPECT_FALSE(ranks.receive(1 - ranks.rank(), channel, std::span(&byte, 1), stop));
    });
    waits.request_stop();
    waits.join();
    EXPECT_FALSE(any_rank(ranks, false));
  });
}

}  // namespace
}  // namespace berth
