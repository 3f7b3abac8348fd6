// The leader and the followers of a cluster, each with threads of its own, over loopback.

#include "entrypoint/gathering/gathering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>

#include "storage/base/text.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What on_lost was told, by any worker.
class Losses {
 public:
  std::function<void(const Error&)> hears(int64_t rank) {
    return [this, rank](const Error& error) {
      const std::scoped_lock lock(mutex_);
      told_.emplace_back(cat(rank, ": ", error.what()));
      ++count_;
    };
  }
  bool wait_for(int count) const {
    for (int i = 0; i < 500 && count_ < count; ++i) sleep_s(0.02);
    return count_ >= count;
  }
  std::vector<std::string> told() {
    const std::scoped_lock lock(mutex_);
    return told_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> told_;
  std::atomic<int> count_ = 0;
};

class GatheringTest : public testing::Test {
 protected:
  GatheringOptions options(int64_t rank, int64_t size) {
    return {.rank = rank,
            .size = size,
            .least = least_ > 0 ? least_ : size,
            .last_call_s = 2,
            .host = cat("host-", rank),
            .job = "job",
            .patience_s = patience_s_,
            .silence_s = silence_s_,
            .on_lost = losses_.hears(rank)};
  }
  std::unique_ptr<Leader> leader(int64_t size) {
    return std::make_unique<Leader>(options(0, size), 0);
  }
  static Follower::Find at(const Leader& leader) {
    return [place = LeaderPlace{
                .host = "127.0.0.1", .port = leader.port(), .attempt = leader.attempt()}] {
      return place;
    };
  }
  // A leader and the followers of `size` workers, who have come.
  void gather(int64_t size) {
    leader_ = leader(size);
    std::vector<std::future<std::optional<GatheredPlace>>> joined;
    for (int64_t rank = 1; rank < size; ++rank) {
      followers_.push_back(std::make_unique<Follower>(options(rank, size), at(*leader_)));
      joined.push_back(std::async(std::launch::async, [this, follower = followers_.back().get()] {
        return follower->join(stop_);
      }));
    }
    leader_->gather(stop_);
    for (auto& each : joined) EXPECT_TRUE(each.get());
  }

  double patience_s_ = 20, silence_s_ = 10;
  int64_t least_ = 0;
  std::atomic<bool> stop_ = false;
  Losses losses_;
  std::unique_ptr<Leader> leader_;
  std::vector<std::unique_ptr<Follower>> followers_;
};

TEST_F(GatheringTest, AllMeetAndShareKeys) {
  gather(4);
  followers_[0]->set("a", as_bytes("from 1"));
  leader_->set("b", as_bytes("from 0"));
  EXPECT_EQ(as_text(leader_->get("a")), "from 1");
  for (const auto& follower : followers_) {
    EXPECT_EQ(as_text(follower->get("a")), "from 1");
    EXPECT_EQ(as_text(follower->get("b")), "from 0");
  }
  auto waits = std::async(std::launch::async, [&] { return followers_[2]->get("late"); });
  sleep_s(0.05);
  followers_[1]->set("late", as_bytes("now"));
  EXPECT_EQ(as_text(waits.get()), "now");
  EXPECT_EQ(leader_->own_address(), "127.0.0.1");
  EXPECT_EQ(followers_[0]->own_address(), "127.0.0.1");
}

TEST_F(GatheringTest, WorkersGoWhenTheJobIsFinished) {
  gather(3);
  std::vector<std::future<void>> waiting;
  for (const auto& follower : followers_) {
    waiting.push_back(
        std::async(std::launch::async, [&] { follower->wait_until_finished(stop_); }));
  }
  auto finishes = std::async(std::launch::async, [&] { leader_->finish(); });
  for (std::future<void>& each : waiting) each.get();
  followers_.clear();
  finishes.get();
  EXPECT_TRUE(losses_.told().empty());
}

TEST_F(GatheringTest, TheLeaderSaysWhoIsMissing) {
  patience_s_ = 3;
  const auto leader = this->leader(4);
  Follower follower(options(2, 4), at(*leader));
  auto joined = std::async(std::launch::async, [&] { return follower.join(stop_); });
  EXPECT_THAT([&] { leader->gather(stop_); },
              ThrowsCode(Code::kPeerLost, "workers 1 and 3 of 4 did not come"));
  EXPECT_THAT([&] { joined.get(); }, ThrowsCode(Code::kPeerLost));
}

TEST_F(GatheringTest, EnoughWorkersMayBeginWithoutTheOthers) {
  least_ = 2;
  leader_ = leader(5);
  Follower third(options(3, 5), at(*leader_)), first(options(1, 5), at(*leader_));
  const auto join = [&](Follower& follower) {
    return std::async(std::launch::async, [&] { return follower.join(stop_); });
  };
  auto third_joined = join(third), first_joined = join(first);
  EXPECT_EQ(leader_->gather(stop_), 3);
  const auto place_of_first = first_joined.get(), place_of_third = third_joined.get();
  ASSERT_TRUE(place_of_first && place_of_third);
  EXPECT_EQ(place_of_first->rank, 1);
  EXPECT_EQ(place_of_third->rank, 2);  // numbered anew
  EXPECT_EQ(place_of_third->size, 3);
}

TEST_F(GatheringTest, FollowersWaitForTheLeader) {
  std::atomic<const Leader*> known = nullptr;
  Follower follower(options(1, 2), [&]() -> std::optional<LeaderPlace> {
    return known == nullptr ? std::nullopt : at(*known)();
  });
  auto joined = std::async(std::launch::async, [&] { return follower.join(stop_); });
  sleep_s(0.2);
  const auto leader = this->leader(2);
  known = leader.get();
  leader->gather(stop_);
  EXPECT_TRUE(joined.get());
}

TEST_F(GatheringTest, FollowersOfAFinishedJobWaitForNobody) {
  std::atomic<int> asked = 0;
  GatheringOptions late = options(1, 2);
  late.is_finished = [&] { return ++asked == 3; };
  EXPECT_FALSE(Follower(late, [] { return std::nullopt; }).join(stop_));
  EXPECT_EQ(asked, 3);
}

TEST_F(GatheringTest, ASignalEndsTheWaiting) {
  const auto leader = this->leader(2);
  Follower follower(options(1, 3), [] { return std::nullopt; });
  auto joined = std::async(std::launch::async, [&] { return follower.join(stop_); });
  auto gathered = std::async(std::launch::async, [&] { leader->gather(stop_); });
  stop_ = true;
  EXPECT_THAT([&] { joined.get(); }, ThrowsCode(Code::kStopped));
  EXPECT_THAT([&] { gathered.get(); }, ThrowsCode(Code::kStopped));
}

TEST_F(GatheringTest, OtherJobsAreRefused) {
  const auto leader = this->leader(3);
  GatheringOptions other = options(1, 3);
  other.job = "another";
  EXPECT_THAT([&] { Follower(other, at(*leader)).join(stop_); },
              ThrowsCode(Code::kIncompatible, "other flags"));
  EXPECT_THAT([&] { Follower(options(1, 2), at(*leader)).join(stop_); },
              ThrowsCode(Code::kIncompatible, "expects 3 workers"));
  EXPECT_THAT([&] { Follower(options(3, 3), at(*leader)).join(stop_); },
              ThrowsCode(Code::kIncompatible, "no worker 3 of 3"));
}

TEST_F(GatheringTest, AWorkerOfAnotherAttemptIsTurnedAway) {
  patience_s_ = 2;
  const auto leader = this->leader(2);
  Follower stale(options(1, 2), [&] {
    return LeaderPlace{.host = "127.0.0.1", .port = leader->port(), .attempt = "yesterday"};
  });
  EXPECT_THAT([&] { stale.join(stop_); }, ThrowsCode(Code::kPeerLost, "earlier attempt"));
}

TEST_F(GatheringTest, ASecondWorkerOfTheSameRankWaits) {
  gather(2);
  patience_s_ = 2;
  Follower second(options(1, 2), at(*leader_));
  EXPECT_THAT([&] { second.join(stop_); }, ThrowsCode(Code::kPeerLost, "train without it"));
  EXPECT_TRUE(losses_.told().empty());
}

TEST_F(GatheringTest, AllHearOfAWorkerThatEnds) {
  gather(3);
  followers_[0].reset();  // closes its connection
  ASSERT_TRUE(losses_.wait_for(2));
  for (const std::string& told : losses_.told()) {
    EXPECT_THAT(told, AllOf(HasSubstr("worker 1 (host-1)"), HasSubstr("without a word"))) << told;
  }
}

TEST_F(GatheringTest, AllHearWhyAWorkerEnds) {
  gather(3);
  followers_[1]->leave(3, "rows.csv: no labels");
  ASSERT_TRUE(losses_.wait_for(2));
  for (const std::string& told : losses_.told()) {
    EXPECT_THAT(told, HasSubstr("worker 2 (host-2) has ended with 3: rows.csv: no labels"));
  }
}

TEST_F(GatheringTest, AllHearOfTheLeadersEnd) {
  gather(3);
  leader_->leave(10, "the disk is full");
  ASSERT_TRUE(losses_.wait_for(2));
  for (const std::string& told : losses_.told()) {
    EXPECT_THAT(told, HasSubstr("worker 0 (host-0) has ended with 10: the disk is full"));
  }
}

TEST_F(GatheringTest, AWorkerThatWasStoppedIsNoLoss) {
  gather(3);
  followers_[1]->leave(143, "stopped");
  followers_.pop_back();
  sleep_s(0.5);
  EXPECT_TRUE(losses_.told().empty());
}

TEST_F(GatheringTest, WhereTheLeaderIsStoppedAllStop) {
  gather(2);
  auto waits = std::async(std::launch::async, [&] { followers_[0]->wait_until_finished(stop_); });
  leader_->leave(143, "stopped by a signal");
  EXPECT_THAT([&] { waits.get(); }, ThrowsCode(Code::kStopped, "worker 0 has ended with 143"));
  leader_.reset();
  sleep_s(0.5);
  EXPECT_TRUE(losses_.told().empty());
}

TEST_F(GatheringTest, SilenceIsALoss) {
  silence_s_ = 1.5;
  leader_ = leader(2);
  // A worker that says hello and nothing more, as one behind a broken network.
  auto fd = connect_to("127.0.0.1", leader_->port(), 5);
  ASSERT_TRUE(fd);
  Connection mute(std::move(*fd));
  Handshake handshake{.worker_nonce = random_digits()};
  while (handshake.leader_nonce.empty() && mute.is_open()) {
    mute.receive([&](const Message& challenge) { handshake.leader_nonce = challenge.nonce; });
  }
  mute.send(handshake.proven(Handshake::Speaker::kWorker, {.kind = Message::Kind::kHello,
                                                           .rank = 1,
                                                           .size = 2,
                                                           .host = "mute",
                                                           .job = fingerprint("", "job"),
                                                           .nonce = handshake.worker_nonce}));
  leader_->gather(stop_);
  ASSERT_TRUE(losses_.wait_for(1));
  EXPECT_THAT(losses_.told()[0], HasSubstr("worker 1 (mute) has been silent for 1.5 s"));
}

TEST_F(GatheringTest, StrangersDoNotDisturb) {
  const auto leader = this->leader(2);
  std::vector<Connection> strangers;
  for (int i = 0; i < 5; ++i) {
    auto fd = connect_to("127.0.0.1", leader->port(), 5);
    ASSERT_TRUE(fd);
    strangers.emplace_back(std::move(*fd));
  }
  constexpr std::string_view kRequest = "GET / HTTP/1.1\r\n\r\n";
  ::send(strangers[0].fd(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL);
  strangers[1].send({.kind = Message::Kind::kSet, .key = "a", .value = {std::byte{1}}});
  strangers[2].close();
  Follower follower(options(1, 2), at(*leader));
  auto joined = std::async(std::launch::async, [&] { return follower.join(stop_); });
  leader->gather(stop_);
  EXPECT_TRUE(joined.get());
  EXPECT_TRUE(losses_.told().empty());
}

}  // namespace
}  // namespace berth
