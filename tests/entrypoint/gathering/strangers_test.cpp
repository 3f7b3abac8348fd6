// Who connects to a leader, or answers in its place, without belonging to the job.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <memory>

#include "entrypoint/gathering/gathering.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using Kind = Message::Kind;
using Speaker = Handshake::Speaker;

const std::string kSecret = "a secret of the workers";

// One end of a connection, which the test moves by hand.
class Wire {
 public:
  explicit Wire(FileDescriptor fd) : connection(std::move(fd)) {}
  static Wire to(const Leader& leader) {
    return Wire(connect_to("127.0.0.1", leader.port(), 5).value());
  }

  // The next message; nullopt: the other side has closed the connection, or is silent for long.
  std::optional<Message> next(double within_s = 10) {
    const double end_s = steady_clock_s() + within_s;
    while (messages_.empty() && connection.is_open() && steady_clock_s() < end_s) {
      sleep_s(0.005);
      connection.receive([&](Message message) { messages_.push_back(std::move(message)); });
    }
    if (messages_.empty()) return std::nullopt;
    Message first = std::move(messages_.front());
    messages_.erase(messages_.begin());
    return first;
  }
  // Says hello as a worker that knows this secret and this job.
  void say_hello(const std::string& secret, const std::string& job, Message hello) {
    handshake = {
        .secret = secret, .leader_nonce = next().value().nonce, .worker_nonce = random_digits()};
    hello.kind = Kind::kHello;
    hello.nonce = handshake.worker_nonce;
    hello.job = fingerprint(secret, job);
    connection.send(handshake.proven(Speaker::kWorker, hello));
  }
  bool is_closed_within(double seconds) {
    const double end_s = steady_clock_s() + seconds;
    while (connection.is_open() && steady_clock_s() < end_s) next(0.05);
    return !connection.is_open();
  }

  Connection connection;
  Handshake handshake;

 private:
  std::vector<Message> messages_;
};

class StrangersTest : public testing::Test {
 protected:
  StrangersTest() {
    set_log_sink([this](LogLevel, const std::string& line) { log_ += line + "\n"; });
  }
  ~StrangersTest() override { set_log_sink({}); }

  GatheringOptions options(int64_t rank, const std::string& secret, int64_t size = 2) {
    return {.rank = rank,
            .size = size,
            .least = size,
            .host = cat("host-", rank),
            .job = "job",
            .secret = secret,
            .patience_s = patience_s_,
            .hello_s = 1,
            .on_lost = [this](const Error& error) {
              lost_ = error.what();
              is_lost_ = true;
            }};
  }
  std::optional<GatheredPlace> join(const Leader& leader, const std::string& secret) {
    Follower follower(options(1, secret), [&] {
      return LeaderPlace{.host = "127.0.0.1", .port = leader.port(), .secret = secret};
    });
    return follower.join(stop_);
  }
  // What a worker that knows `secret` hears where `answer` comes from worker 0's address.
  std::optional<GatheredPlace> join_false_leader(const std::string& secret,
                                                 const std::string& leaders,
                                                 const Message& answer) {
    const Listener listener = listen_on(0);
    const auto lies = std::async(std::launch::async, [&] {
      for (int i = 0; i < 2000 && !stop_; ++i) {
        FileDescriptor fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK));
        if (!fd) {
          sleep_s(0.005);
          continue;
        }
        Wire wire(std::move(fd));
        wire.handshake = {.secret = leaders, .leader_nonce = random_digits()};
        wire.connection.send({.kind = Kind::kChallenge, .nonce = wire.handshake.leader_nonce});
        wire.handshake.worker_nonce = wire.next().value_or(Message()).nonce;
        wire.connection.send(wire.handshake.proven(Speaker::kLeader, answer));
      }
    });
    Follower follower(options(1, secret), [&] {
      return LeaderPlace{.host = "127.0.0.1", .port = listener.port, .secret = secret};
    });
    const auto stops = [&](void*) { stop_ = true; };
    const std::unique_ptr<void, decltype(stops)> at_end(this, stops);
    std::atomic<bool> never = false;
    return follower.join(never);
  }

  double patience_s_ = 20;
  std::string log_;
  std::string lost_;
  std::atomic<bool> is_lost_ = false, stop_ = false;
};

TEST_F(StrangersTest, WhoSaysAnythingButHelloIsClosed) {
  Leader leader(options(0, ""), 0);
  Wire stranger = Wire::to(leader);
  std::string frames;
  for (int i = 0; i < 100'000; ++i) frames += encode({.kind = Kind::kAlive});
  ::send(stranger.connection.fd(), frames.data(), frames.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  EXPECT_TRUE(stranger.is_closed_within(5));
}

TEST_F(StrangersTest, ALongHelloIsClosed) {
  Leader leader(options(0, ""), 0);
  Wire stranger = Wire::to(leader);
  stranger.say_hello("", "job", {.host = std::string(MessageReader::kMostBytesAtFirst, 'x')});
  EXPECT_TRUE(stranger.is_closed_within(5));
}

TEST_F(StrangersTest, WhoIsSilentIsClosed) {
  Leader leader(options(0, ""), 0);
  Wire stranger = Wire::to(leader);
  const double began_s = steady_clock_s();
  for (int i = 0; i < 100 && stranger.connection.is_open(); ++i) {
    ::send(stranger.connection.fd(), "\1", 1, MSG_NOSIGNAL);  // a frame that never ends
    stranger.next(0.1);
  }
  EXPECT_FALSE(stranger.connection.is_open());
  EXPECT_LT(steady_clock_s() - began_s, 5);
}

TEST_F(StrangersTest, ManyConnectionsKeepNoWorkerOut) {
  GatheringOptions patient = options(0, "");
  patient.hello_s = 60;
  Leader leader(patient, 0);
  std::vector<Wire> strangers;
  for (int i = 0; i < 200; ++i) strangers.push_back(Wire::to(leader));
  auto joined = std::async(std::launch::async, [&] { return join(leader, ""); });
  EXPECT_EQ(leader.gather(stop_), 2);
  EXPECT_TRUE(joined.get());
}

TEST_F(StrangersTest, HearNothing) {
  for (const std::string& secret : {std::string(), kSecret}) {
    Leader leader(options(0, secret, 7), 0);
    // Rank, size and attempt are wrong. A secret that the stranger guesses is, too.
    Wire stranger = Wire::to(leader);
    stranger.say_hello(secret.empty() ? "" : "guess", "another",
                       {.rank = 99, .size = 2, .attempt = "x"});
    Message answer = stranger.next().value();
    EXPECT_EQ(answer.proof.empty(), !secret.empty());
    answer.proof.clear();
    EXPECT_EQ(answer, Message{.kind = Kind::kRefused});
    leader.leave(0, "");
    EXPECT_THAT(log_,
                testing::HasSubstr(
                    "1 was a stranger and no worker of this job, the last one from 127.0.0.1"));
  }
}

TEST_F(StrangersTest, WorkersHearWhatIsWrong) {
  Leader leader(options(0, kSecret, 7), 0);
  const auto answer_to = [&](const std::string& job, const Message& hello) {
    Wire worker = Wire::to(leader);
    worker.say_hello(kSecret, job, hello);
    const Message answer = worker.next().value();
    EXPECT_TRUE(worker.handshake.is_proven(Speaker::kLeader, answer));
    return answer.text;
  };
  EXPECT_THAT(answer_to("job", {.rank = 1, .size = 2}), testing::HasSubstr("expects 7 workers"));
  EXPECT_THAT(answer_to("job", {.rank = 7, .size = 7}), testing::HasSubstr("no worker 7 of 7"));
  EXPECT_THAT(answer_to("another", {.rank = 1, .size = 7}), testing::HasSubstr("other flags"));
  EXPECT_THAT(answer_to("job", {.rank = 1, .size = 7, .attempt = "x"}),
              testing::HasSubstr("earlier attempt"));
}

TEST_F(StrangersTest, WorkersWithTheSecretMeet) {
  Leader leader(options(0, kSecret), 0);
  auto joined = std::async(std::launch::async, [&] { return join(leader, kSecret); });
  leader.gather(stop_);
  const auto place = joined.get();
  ASSERT_TRUE(place);
  EXPECT_EQ(place->secret, kSecret);
  EXPECT_EQ(place->attempt, leader.attempt());
}

TEST_F(StrangersTest, WorkersWithAnotherSecretDoNotMeet) {
  patience_s_ = 1;
  Leader leader(options(0, kSecret), 0);
  EXPECT_THAT([&] { join(leader, "another secret"); },
              ThrowsCode(Code::kPeerLost, "does not know the secret of this worker"));
  EXPECT_THAT([&] { join(leader, ""); }, ThrowsCode(Code::kIncompatible, "it has a secret"));
  Leader open(options(0, ""), 0);
  EXPECT_THAT([&] { join(open, kSecret); },
              ThrowsCode(Code::kPeerLost, "does not know the secret of this worker"));
}

TEST_F(StrangersTest, AFalseLeaderIsNotBelieved) {
  patience_s_ = 1;
  for (const Kind kind : {Kind::kWelcome, Kind::kRefused, Kind::kDone}) {
    stop_ = false;
    EXPECT_THAT([&] { join_false_leader(kSecret, "guess", {.kind = kind, .rank = 1, .size = 2}); },
                ThrowsCode(Code::kPeerLost, "is not believed"));
  }
}

TEST_F(StrangersTest, ARankThatNoWorkerHasEndsWith11) {
  for (const auto& place : {std::pair(99, 2), {-1, 2}, {0, 2}, {2, 2}, {1, 3}, {1, 1}, {0, 0}}) {
    const int rank = place.first, size = place.second;
    stop_ = false;
    EXPECT_THAT(
        [&] { join_false_leader("", "", {.kind = Kind::kWelcome, .rank = rank, .size = size}); },
        ThrowsCode(Code::kPeerLost, cat("worker ", rank, " of ", size)));
  }
}

TEST_F(StrangersTest, AreNeverNamedAsAWorker) {
  Leader leader(options(0, kSecret), 0);
  Wire worker = Wire::to(leader);
  worker.say_hello(kSecret, "job", {.rank = 1, .size = 2, .host = "host-1"});
  leader.gather(stop_);
  Wire stranger = Wire::to(leader);
  stranger.say_hello("guess", "job", {.rank = 1, .size = 2, .host = "evil"});
  stranger.connection.send({.kind = Kind::kLeave, .code = 3, .text = "evil"});
  EXPECT_TRUE(stranger.is_closed_within(5));
  EXPECT_FALSE(is_lost_);
  worker.connection.close();
  for (int i = 0; i < 500 && !is_lost_; ++i) sleep_s(0.01);
  EXPECT_THAT(lost_, testing::HasSubstr("worker 1 (host-1) has ended without a word"));
  EXPECT_THAT(log_, testing::Not(testing::HasSubstr("evil")));
}

TEST_F(StrangersTest, AWorkerMayNotFillTheMemory) {
  Leader leader(options(0, ""), 0);
  Wire worker = Wire::to(leader);
  worker.say_hello("", "job", {.rank = 1, .size = 2});
  leader.gather(stop_);
  const Message large{.kind = Kind::kSet, .key = "a", .value = std::vector<std::byte>(1 << 20)};
  for (int i = 0; i < 100 && worker.connection.is_open(); ++i) {
    worker.connection.send(large);
    for (int k = 0; k < 1000 && worker.connection.wants_to_send() && worker.connection.is_open();
         ++k) {
      worker.next(0.001);
      worker.connection.flush();
    }
  }
  EXPECT_FALSE(worker.connection.is_open());
}

TEST_F(StrangersTest, ALeaderIsKnownByItsSecret) {
  Leader leader(options(0, kSecret), 0);
  LeaderPlace place{.host = "127.0.0.1", .port = leader.port(), .secret = kSecret};
  EXPECT_TRUE(is_led(place));
  place.secret = "another secret";
  EXPECT_FALSE(is_led(place));
  const Listener nobody = listen_on(0);
  place.port = nobody.port;
  const double began_s = steady_clock_s();
  EXPECT_FALSE(is_led(place));  // it accepts and says nothing
  EXPECT_LT(steady_clock_s() - began_s, 8);
}

}  // namespace
}  // namespace berth
