#include "entrypoint/gathering/gathering.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {

namespace {

// "worker 2 (berth-2) has ended": who is lost, and why.
Error lost_worker(int64_t rank, const std::string& host, const std::string& why) {
  return Error(Code::kPeerLost,
               cat("worker ", rank, host.empty() ? "" : cat(" (", host, ")"), " ", why), "",
               "start the workers again; a training resumes from its last checkpoint");
}

constexpr double kGoodbye_s = 5;            // for the others to go
constexpr double kNews_s = 10;              // between two lines that say for whom it waits
constexpr double kBetweenStrangers_s = 60;  // between two lines that count them
// Connections beyond the workers'. The oldest one goes where more come.
constexpr size_t kMostUnknown = 64;
// The bytes that one worker may leave in the store, and the keys for which it may wait at once.
constexpr size_t kMostStoredBytes = 4 * MessageReader::kMostBytes;
constexpr size_t kMostWanted = 16384;
constexpr size_t kMostHostBytes = 255, kMostTextBytes = 4096;  // which the log shows

}  // namespace

Leader::Peer::Peer(FileDescriptor fd, const std::string& secret)
    : connection(std::move(fd)), handshake{.secret = secret, .leader_nonce = random_digits()} {
  connection.send({.kind = Message::Kind::kChallenge, .nonce = handshake.leader_nonce});
}

Leader::Leader(GatheringOptions options, int64_t port)
    : options_(std::move(options)),
      attempt_(random_letters(12)),
      listener_(listen_on(port)),
      wakes_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Leader::~Leader() {
  thread_.request_stop();
  wake();
}

void Leader::wake() const { ::eventfd_write(wakes_.get(), 1); }

void Leader::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    wait_for_events();
    std::optional<Error> lost;
    {
      const std::scoped_lock lock(mutex_);
      accept_all();
      for (Peer& peer : peers_) {
        peer.connection.receive([&](Message message) { handle(peer, std::move(message)); });
        peer.connection.flush();
      }
      check_peers();
      tell_strangers(/*at_end=*/false);
      lost = std::exchange(lost_, std::nullopt);
    }
    changed_.notify_all();
    if (lost && options_.on_lost) options_.on_lost(*lost);
  }
}

void Leader::wait_for_events() {
  std::vector<::pollfd> waiting = {{.fd = wakes_.get(), .events = POLLIN, .revents = 0},
                                   {.fd = listener_.fd.get(), .events = POLLIN, .revents = 0}};
  {
    const std::scoped_lock lock(mutex_);
    for (const Peer& peer : peers_) {
      const int events = (peer.connection.wants_to_send() ? POLLOUT : 0) |
                         (peer.connection.is_behind() ? 0 : POLLIN);
      waiting.push_back(
          {.fd = peer.connection.fd(), .events = static_cast<short>(events), .revents = 0});
    }
  }
  ::poll(waiting.data(), waiting.size(), kTick_ms);
  ::eventfd_t ignored = 0;
  ::eventfd_read(wakes_.get(), &ignored);
}

void Leader::accept_all() {
  const auto is_unknown = [](const Peer& peer) {
    return peer.rank < 0 && peer.connection.is_open();
  };
  auto unknown = static_cast<size_t>(std::ranges::count_if(peers_, is_unknown));
  for (size_t i = 0; i < kMostUnknown; ++i) {
    FileDescriptor fd(
        ::accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    if (unknown == kMostUnknown) {
      std::ranges::find_if(peers_, is_unknown)->connection.close();
    } else {
      ++unknown;
    }
    peers_.emplace_back(std::move(fd), options_.secret);
  }
}

void Leader::handle(Peer& peer, Message message) {
  using Kind = Message::Kind;
  if (peer.rank < 0) {
    if (peer.has_answer) return;
    if (message.kind == Kind::kHello) return greet(peer, message);
    return peer.connection.close();
  }
  switch (message.kind) {
    case Kind::kSet:
      peer.stored_bytes += message.key.size() + message.value.size();
      if (peer.stored_bytes > kMostStoredBytes) return peer.connection.close();
      values_[message.key] = std::move(message.value);
      for (Peer& each : peers_) give(each);
      return;
    case Kind::kGet:
      if (peer.wanted.size() == kMostWanted) return peer.connection.close();
      peer.wanted.push_back(message.key);
      return give(peer);
    case Kind::kLeave:
      peer.may_go = true;
      if (message.code == exit_code(Code::kStopped)) return;
      return lose(
          peer.rank, peer.host,
          cat("has ended with ", message.code, ": ", message.text.substr(0, kMostTextBytes)));
    default:
      return;
  }
}

void Leader::greet(Peer& peer, const Message& hello) {
  using Kind = Message::Kind;
  const auto turn_away = [&](Kind kind, const std::string& why) {
    peer.connection.send(
        peer.handshake.proven(Handshake::Speaker::kLeader, {.kind = kind, .text = why}));
  };
  peer.has_answer = true;
  peer.handshake.worker_nonce = hello.nonce;
  if (!peer.handshake.is_proven(Handshake::Speaker::kWorker, hello)) {
    count_stranger(peer);
    return peer.connection.send({.kind = Kind::kRefused});
  }
  const bool is_same_job = hello.job == fingerprint(options_.secret, options_.job);
  if (!is_same_job && options_.secret.empty()) {
    count_stranger(peer);
    return turn_away(Kind::kRefused, "");
  }
  // It belongs to the job, so the refusal may name the reason.
  if (hello.size != options_.size) {
    return turn_away(Kind::kRefused, cat("worker 0 expects ", options_.size,
                                         " workers, and this one expects ", hello.size));
  }
  if (hello.rank < 1 || hello.rank >= options_.size) {
    return turn_away(Kind::kRefused, cat("there is no worker ", hello.rank, " of ", options_.size));
  }
  if (!is_same_job) {
    return turn_away(Kind::kRefused, "worker 0 has another version of berth or other flags");
  }
  if (!hello.attempt.empty() && hello.attempt != attempt_) {
    return turn_away(Kind::kLater, "the address belongs to an earlier attempt");
  }
  if (is_over_) return turn_away(Kind::kDone, "");
  if (is_gathered_) return turn_away(Kind::kLater, "the other workers train without it");
  for (const Peer& other : peers_) {
    if (other.rank != hello.rank || !other.connection.is_open()) continue;
    return turn_away(Kind::kLater,
                     cat("worker ", hello.rank, " is there already, on ", other.host));
  }
  peer.rank = hello.rank;
  peer.host = hello.host.substr(0, kMostHostBytes);
  peer.connection.trust();
  if (own_address_.empty()) own_address_ = peer.connection.own_address();
  last_came_s_ = steady_clock_s();
  if (come() == options_.size) begin();
}

void Leader::count_stranger(const Peer& peer) {
  ++strangers_;
  last_stranger_ = peer.address;
}

// Logs the first stranger at once, and their number from time to time.
void Leader::tell_strangers(bool at_end) {
  if (strangers_ == strangers_logged_) return;
  const double now_s = steady_clock_s();
  if (strangers_logged_ > 0 && !at_end && now_s - strangers_logged_s_ < kBetweenStrangers_s) return;
  strangers_logged_ = strangers_;
  strangers_logged_s_ = now_s;
  log_warning(cat("of the connections to port ", port(), ", ", strangers_,
                  strangers_ == 1 ? " was a stranger" : " were strangers",
                  " and no worker of this job, the last one from ", last_stranger_));
}

// Numbers the workers that have come, in the order of their ranks at the start.
void Leader::begin() {
  is_gathered_ = true;
  gathered_ = come();
  std::map<int64_t, Peer*> by_rank;
  for (Peer& peer : peers_) {
    if (peer.rank >= 0 && peer.connection.is_open()) by_rank[peer.rank] = &peer;
  }
  int64_t rank = 0;
  for (const auto& [asked, peer] : by_rank) {
    peer->connection.send(peer->handshake.proven(
        Handshake::Speaker::kLeader,
        {.kind = Message::Kind::kWelcome, .rank = ++rank, .size = gathered_, .attempt = attempt_}));
  }
}

// Sends the values that the peer waits for and that exist.
void Leader::give(Peer& peer) {
  std::erase_if(peer.wanted, [&](const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return false;
    peer.connection.send({.kind = Message::Kind::kValue, .key = key, .value = found->second});
    return true;
  });
}

// Sends signs of life, and looks who is gone.
void Leader::check_peers() {
  if (steady_clock_s() - alive_sent_s_ >= kAlive_s) {
    alive_sent_s_ = steady_clock_s();
    tell_all({.kind = Message::Kind::kAlive});
  }
  for (Peer& peer : peers_) {
    if (peer.rank < 0) {
      if (steady_clock_s() - peer.came_s > options_.hello_s) peer.connection.close();
      if (!peer.connection.is_open() && !peer.has_answer) count_stranger(peer);
    } else if (peer.connection.is_open() && peer.connection.silent_s() > options_.silence_s) {
      peer.connection.close();
      if (is_gathered_ && !peer.may_go) {
        lose(peer.rank, peer.host, cat("has been silent for ", options_.silence_s, " s"));
      }
    } else if (!peer.connection.is_open() && is_gathered_ && !peer.may_go) {
      lose(peer.rank, peer.host, "has ended without a word");
    }
  }
  std::erase_if(peers_, [](const Peer& peer) { return !peer.connection.is_open(); });
}

void Leader::lose(int64_t rank, const std::string& host, const std::string& why) {
  if (is_over_) return;
  is_over_ = true;
  tell_all({.kind = Message::Kind::kLost, .rank = rank, .host = host, .text = why});
  flush_for(kAlive_s / 2);
  lost_ = lost_worker(rank, host, why);
}

void Leader::tell_all(const Message& message) {
  for (Peer& peer : peers_) {
    if (peer.rank >= 0) peer.connection.send(message);
  }
}

void Leader::flush_for(double seconds) {
  const double end_s = steady_clock_s() + seconds;
  const auto wants = [](const Peer& peer) {
    return peer.connection.is_open() && peer.connection.wants_to_send();
  };
  while (steady_clock_s() < end_s && std::ranges::any_of(peers_, wants)) {
    for (Peer& peer : peers_) peer.connection.flush();
    sleep_s(0.01);
  }
}

// The workers that are there, this one included.
int64_t Leader::come() const {
  return 1 + std::ranges::count_if(peers_, [](const Peer& peer) {
           return peer.rank >= 0 && peer.connection.is_open();
         });
}

// "1, 3 and 5"
std::string Leader::missing() const {
  std::vector<std::string> names;
  for (int64_t rank = 1; rank < options_.size; ++rank) {
    const bool is_there = std::ranges::any_of(
        peers_, [&](const Peer& peer) { return peer.rank == rank && peer.connection.is_open(); });
    if (!is_there) names.push_back(std::to_string(rank));
  }
  return cat(names.size() == 1 ? "worker " : "workers ", enumerated(names), " of ", options_.size);
}

int64_t Leader::gather(const std::atomic<bool>& stop) {
  const double began_s = steady_clock_s();
  double logged_s = began_s;
  std::unique_lock lock(mutex_);
  last_came_s_ = began_s;
  if (options_.size == 1) begin();
  while (!is_gathered_) {
    if (stop)
      throw Error(Code::kStopped, cat("a signal stopped the job, which waited for ", missing()));
    const double now_s = steady_clock_s();
    if (come() >= options_.least && options_.least < options_.size &&
        now_s - last_came_s_ > options_.last_call_s) {
      log_warning(cat("beginning without ", missing()));
      begin();
      break;
    }
    if (now_s - began_s > options_.patience_s) {
      throw Error(Code::kPeerLost,
                  cat(missing(), " did not come within ", options_.patience_s, " s"), "",
                  "look whether it was started, and whether it reaches this one by TCP; "
                  "--rendezvous-timeout says how long to wait");
    }
    if (now_s - logged_s > kNews_s) {
      logged_s = now_s;
      log_info(cat("waiting for ", missing(), ", on port ", port()));
    }
    changed_.wait_for(lock, std::chrono::milliseconds(kTick_ms));
  }
  return gathered_;
}

std::string Leader::own_address() const {
  const std::scoped_lock lock(mutex_);
  return own_address_;
}

void Leader::set(const std::string& key, Bytes value) {
  const std::scoped_lock lock(mutex_);
  values_[key].assign(value.begin(), value.end());
  for (Peer& peer : peers_) give(peer);
  changed_.notify_all();
}

std::vector<std::byte> Leader::get(const std::string& key) {
  std::unique_lock lock(mutex_);
  const auto has_come = [&] { return values_.contains(key) || is_over_; };
  const bool came =
      changed_.wait_for(lock, std::chrono::duration<double>(options_.patience_s), has_come);
  if (!came || !values_.contains(key)) {
    throw Error(Code::kPeerLost, "another worker did not send its address", "",
                "look why it ended, and start the workers again");
  }
  return values_.at(key);
}

void Leader::finish() {
  const double end_s = steady_clock_s() + kGoodbye_s;
  std::unique_lock lock(mutex_);
  is_over_ = true;
  tell_strangers(/*at_end=*/true);
  for (Peer& peer : peers_) peer.may_go = true;
  tell_all({.kind = Message::Kind::kDone});
  wake();
  while (come() > 1 && steady_clock_s() < end_s) {
    changed_.wait_for(lock, std::chrono::milliseconds(kTick_ms));
  }
}

void Leader::leave(int code, const std::string& why) {
  const std::scoped_lock lock(mutex_);
  tell_strangers(/*at_end=*/true);
  if (is_over_) return;
  is_over_ = true;
  // Where all stop together, the others end in their own time.
  const bool stops = code == exit_code(Code::kStopped);
  tell_all({.kind = stops ? Message::Kind::kLeave : Message::Kind::kLost,
            .rank = 0,
            .code = code,
            .host = options_.host,
            .text = cat("has ended with ", code, ": ", why)});
  flush_for(kAlive_s / 2);
}

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
  const Json parsed = parse_json(json);
  const JsonObject place(parsed);
  const auto host = place.text("host"), attempt = place.text("attempt");
  const int64_t port = place.integer("port").value_or(0);
  if (!host || !attempt || port < 1 || port > kMostPort) return std::nullopt;
  return LeaderPlace{.host = *host,
                     .port = port,
                     .attempt = *attempt,
                     .secret = place.text("secret").value_or("")};
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
    say_once(cat("the program that listens at ", place.host, ":", place.port,
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
    say_once(cat("the program that listens at ", place.host, ":", place.port,
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
