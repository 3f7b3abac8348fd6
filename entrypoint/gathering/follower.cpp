#include "entrypoint/gathering/follower.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr int64_t kMostPort = 65535;
constexpr double kConnect_s = 5;
// Between two attempts to reach worker 0: short ones at first, each twice as long as the last.
constexpr double kFirstPause_s = 0.1, kLongestPause_s = 1;
// The time between two checks whether the job is finished. A check takes two requests in gs://.
constexpr double kBetweenLooks_s = 5;

void wait_for_input(int fd) {
  ::pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  ::poll(&waiting, 1, kTick_ms);
}

}  // namespace

std::string to_json(const LeaderPlace& place) {
  const Json json = {{"host", place.host},
                     {"port", place.port},
                     {"attempt", place.attempt},
                     {"secret", place.secret}};
  return to_text(json) + "\n";
}

std::optional<LeaderPlace> parse_leader_place(std::string_view json) {
  const Json place = parse_json(json);
  const auto has_text = [&](const char* name) {
    return place.contains(name) && place[name].is_string();
  };
  if (!has_text("host") || !has_text("attempt") || !place.contains("port") ||
      !place["port"].is_number_integer()) {
    return std::nullopt;
  }
  const auto port = place["port"].get<int64_t>();
  if (port < 1 || port > kMostPort) return std::nullopt;
  return LeaderPlace{.host = place["host"].get<std::string>(),
                     .port = port,
                     .attempt = place["attempt"].get<std::string>(),
                     .secret = has_text("secret") ? place["secret"].get<std::string>() : ""};
}

bool is_led(const LeaderPlace& place) {
  auto fd = connect_to(place.host, place.port, kConnect_s);
  if (!fd) return false;
  Connection connection(std::move(*fd));
  Handshake handshake{.secret = place.secret, .worker_nonce = random_digits()};
  bool is_proven = false;
  const double end_s = steady_clock_s() + kConnect_s;
  while (connection.is_open() && !is_proven && steady_clock_s() < end_s) {
    wait_for_input(connection.fd());
    connection.receive([&](const Message& message) {
      if (message.kind == Message::Kind::kChallenge) {
        handshake.leader_nonce = message.nonce;
        // There is no other worker 0, so this one is turned away.
        connection.send(
            handshake.proven(Handshake::Speaker::kWorker,
                             {.kind = Message::Kind::kHello, .nonce = handshake.worker_nonce}));
      } else {
        is_proven = handshake.is_proven(Handshake::Speaker::kLeader, message);
      }
    });
  }
  return is_proven;
}

Follower::Follower(GatheringOptions options, Find find)
    : options_(std::move(options)), find_(std::move(find)) {}

Follower::~Follower() = default;

void Follower::say_once(const std::string& what) {
  if (what == said_) return;
  said_ = what;
  log_info(what);
}

void Follower::pause(double seconds, const std::atomic<bool>& stop) {
  const double end_s = steady_clock_s() + seconds;
  while (steady_clock_s() < end_s && !stop) sleep_s(kFirstPause_s);
}

std::optional<GatheredPlace> Follower::join(const std::atomic<bool>& stop) {
  ends_s_ = steady_clock_s() + options_.patience_s;
  double next_look_s = steady_clock_s() + kFirstPause_s;
  for (double pause_s = kFirstPause_s;; pause_s = std::min(2 * pause_s, kLongestPause_s)) {
    if (stop) throw Error(Code::kStopped, "a signal stopped the job, which waited for worker 0");
    const bool is_late = steady_clock_s() > ends_s_;
    if (is_late || steady_clock_s() > next_look_s) {
      if (options_.is_finished && options_.is_finished()) return std::nullopt;
      next_look_s = steady_clock_s() + kBetweenLooks_s;
    }
    if (is_late) {
      throw Error(Code::kPeerLost,
                  cat("worker 0 did not gather the workers within ", options_.patience_s, " s",
                      said_.empty() ? "" : cat(" (", said_, ")")),
                  "",
                  "look whether all workers were started, and whether they reach worker 0 by TCP; "
                  "--rendezvous-timeout says how long to wait");
    }
    const std::optional<LeaderPlace> place = find_();
    if (!place) {
      say_once("waiting until worker 0 says where it is");
    } else if (const Answer answer = ask(*place, stop); answer != Answer::kAgain) {
      if (answer == Answer::kDone) return std::nullopt;
      thread_ = std::jthread([this](const std::stop_token& ends) { run(ends); });
      return place_;
    }
    pause(pause_s, stop);
  }
}

// Connects to the leader and waits for its answer. kAgain: the connection was lost, or the leader
// wants another try later.
Follower::Answer Follower::ask(const LeaderPlace& place, const std::atomic<bool>& stop) {
  auto fd = connect_to(place.host, place.port, kConnect_s);
  if (!fd) {
    say_once(cat("waiting for worker 0 at ", place.host, ":", place.port));
    return Answer::kAgain;
  }
  Connection& connection = connection_.emplace(std::move(*fd));
  own_address_ = connection.own_address();
  Handshake handshake{.secret = place.secret, .worker_nonce = random_digits()};
  std::optional<Answer> answer;
  double sent_s = steady_clock_s();
  while (connection.is_open() && !stop && steady_clock_s() < ends_s_ &&
         connection.silent_s() < options_.silence_s) {
    wait_for_input(connection.fd());
    connection.receive([&](Message message) {
      if (answer) return handle(std::move(message));
      answer = answer_to(message, place, handshake);
      if (answer == Answer::kWelcome) connection.trust();
    });
    if (answer) return *answer;
    if (handshake.leader_nonce.empty() || steady_clock_s() - sent_s < kAlive_s) continue;
    sent_s = steady_clock_s();
    connection.send({.kind = Message::Kind::kAlive});
    say_once("worker 0 waits for other workers");
  }
  if (handshake.leader_nonce.empty() && !stop) {
    say_once(cat("whoever listens at ", place.host, ":", place.port,
                 " does not answer as worker 0 of this version does"));
  }
  return Answer::kAgain;
}

// nullopt where the message is no answer. Throws kIncompatible where the leader refuses this
// worker.
std::optional<Follower::Answer> Follower::answer_to(const Message& message,
                                                    const LeaderPlace& place,
                                                    Handshake& handshake) {
  if (message.kind == Message::Kind::kAlive) return std::nullopt;
  if (message.kind == Message::Kind::kChallenge && handshake.leader_nonce.empty()) {
    handshake.leader_nonce = message.nonce;
    connection_->send(handshake.proven(Handshake::Speaker::kWorker,
                                       {.kind = Message::Kind::kHello,
                                        .rank = options_.rank,
                                        .size = options_.size,
                                        .host = options_.host,
                                        .job = fingerprint(place.secret, options_.job),
                                        .attempt = place.attempt,
                                        .nonce = handshake.worker_nonce}));
    return std::nullopt;
  }
  if (!handshake.is_proven(Handshake::Speaker::kLeader, message)) {
    if (message.kind == Message::Kind::kRefused && place.secret.empty()) {
      throw Error(Code::kIncompatible,
                  "worker 0 refuses this worker: it has a secret, and this one has none", "",
                  "give all workers the same --cluster-secret-file");
    }
    say_once(cat("whoever listens at ", place.host, ":", place.port,
                 " does not know the secret of this worker, so it is not believed"));
    return Answer::kAgain;
  }
  switch (message.kind) {
    case Message::Kind::kWelcome:
      place_ = place_in(message);
      place_.secret = place.secret;
      return Answer::kWelcome;
    case Message::Kind::kDone:
      return Answer::kDone;
    case Message::Kind::kLater:
      say_once(cat("worker 0 asks to come later: ", message.text));
      return Answer::kAgain;
    case Message::Kind::kRefused:
      throw Error(Code::kIncompatible,
                  cat("worker 0 refuses this worker: ",
                      message.text.empty() ? "it has another version of berth or other flags"
                                           : message.text),
                  "", "start all workers with the same image, flags and --world-size");
    default:
      return std::nullopt;
  }
}

// Throws kPeerLost if no worker can have such a rank: the sender is not worker 0.
GatheredPlace Follower::place_in(const Message& welcome) const {
  if (welcome.rank < 1 || welcome.rank >= welcome.size || welcome.size > options_.size) {
    throw Error(Code::kPeerLost,
                cat("what answers as worker 0 calls this one worker ", welcome.rank, " of ",
                    welcome.size, ", and there are ", options_.size),
                "", "look what listens at the address of worker 0, and start the workers again");
  }
  return {.rank = welcome.rank, .size = welcome.size, .attempt = welcome.attempt};
}

void Follower::run(const std::stop_token& stop) {
  double sent_s = 0;
  while (!stop.stop_requested()) {
    int fd = -1;
    {
      const std::scoped_lock lock(mutex_);
      fd = connection_->fd();
    }
    if (fd >= 0) {
      wait_for_input(fd);
    } else {
      sleep_s(kTick_ms / 1000.0);
    }
    std::optional<Error> lost;
    {
      const std::scoped_lock lock(mutex_);
      connection_->receive([this](Message message) { handle(std::move(message)); });
      if (steady_clock_s() - sent_s >= kAlive_s) {
        sent_s = steady_clock_s();
        connection_->send({.kind = Message::Kind::kAlive});
      }
      connection_->flush();
      if (!is_finished_ && !is_leaving_ && !is_reported_) {
        if (!connection_->is_open()) {
          lose(lost_worker(0, "", "has ended without a word"));
        } else if (connection_->silent_s() > options_.silence_s) {
          lose(lost_worker(0, "", cat("has been silent for ", options_.silence_s, " s")));
        }
        lost = lost_;
        is_reported_ = lost.has_value();
      }
    }
    changed_.notify_all();
    if (lost && options_.on_lost) options_.on_lost(*lost);
  }
}

void Follower::handle(Message message) {
  switch (message.kind) {
    case Message::Kind::kValue:
      if (asked_.contains(message.key)) values_[message.key] = std::move(message.value);
      return;
    case Message::Kind::kDone:
      is_finished_ = true;
      return;
    case Message::Kind::kLeave:
      is_reported_ = true;
      return lose(Error(Code::kStopped, cat("worker 0 ", message.text)));
    case Message::Kind::kLost:
      return lose(lost_worker(message.rank, message.host, message.text));
    default:
      return;
  }
}

void Follower::lose(const Error& error) {
  if (!lost_) lost_ = error;
}

void Follower::set(const std::string& key, Bytes value) {
  const std::scoped_lock lock(mutex_);
  connection_->send(
      {.kind = Message::Kind::kSet, .key = key, .value = {value.begin(), value.end()}});
}

std::vector<std::byte> Follower::get(const std::string& key) {
  std::unique_lock lock(mutex_);
  asked_.insert(key);
  if (!values_.contains(key)) connection_->send({.kind = Message::Kind::kGet, .key = key});
  changed_.wait_for(lock, std::chrono::duration<double>(options_.patience_s),
                    [&] { return values_.contains(key) || lost_; });
  if (!values_.contains(key)) {
    throw lost_ ? *lost_
                : Error(Code::kPeerLost, "another worker did not send its address", "",
                        "look why it ended, and start the workers again");
  }
  return values_.at(key);
}

void Follower::wait_until_finished(const std::atomic<bool>& stop) {
  std::unique_lock lock(mutex_);
  while (!is_finished_ && !lost_ && !stop) {
    changed_.wait_for(lock, std::chrono::milliseconds(kTick_ms));
  }
  if (lost_ && !is_finished_) throw *lost_;
  if (!is_finished_) {
    throw Error(Code::kStopped, "a signal stopped the job, which waited for worker 0's results");
  }
}

void Follower::leave(int code, const std::string& why) {
  const std::scoped_lock lock(mutex_);
  is_leaving_ = true;
  if (!connection_ || !connection_->is_open() || is_finished_) return;
  connection_->send({.kind = Message::Kind::kLeave, .code = code, .text = why});
  for (int i = 0; i < 50 && connection_->wants_to_send(); ++i) {
    sleep_s(0.01);
    connection_->flush();
  }
}

}  // namespace berth
