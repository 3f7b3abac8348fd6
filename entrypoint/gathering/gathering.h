#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "entrypoint/gathering/connection.h"
#include "entrypoint/gathering/proof.h"
#include "storage/base/error.h"
#include "trainer/distributed/communicator.h"

namespace berth {

// How the workers of a job find each other and notice that one of them is lost. The worker of rank
// 0 leads: the others connect to it, and it says when all are there. From then on each of them
// hears from the other side every second.
struct GatheringOptions {
  int64_t rank = 0, size = 1;
  // The smallest number of workers that begin without the others, once no other worker came for
  // `last_call_s`. If it equals `size`, all workers are needed.
  int64_t least = 1;
  double last_call_s = 30;
  std::string host{};       // host_name() of this worker, for messages
  std::string job{};        // what all workers must agree on
  std::string secret{};     // which they share; empty: whoever knows the job belongs to it
  double patience_s = 600;  // how long a worker waits for the others to start
  double silence_s = 15;    // after which another worker counts as lost
  double hello_s = 10;      // after which a connection that has proved nothing is closed
  // Called while this worker waits for worker 0: whether the job was finished without it, so that
  // nobody will come. Empty: it is not called.
  std::function<bool()> is_finished{};
  // Called once, on a thread of the gathering, where a worker is lost after all had come. The
  // function must end the process.
  std::function<void(const Error& error)> on_lost{};
};

inline constexpr double kAlive_s = 1;  // between two signs of life
inline constexpr int kTick_ms = 200;   // for which a thread waits at once

// The rank of a worker among the workers that have come.
struct GatheredPlace {
  int64_t rank = 0, size = 1;
  std::string attempt{};  // Leader::attempt()
  std::string secret{};   // of the job, by which the leader has proved itself
};

// The worker of rank 0: it listens for the others, stores the keys by which they connect to each
// other, and reports to all of them when one is lost. A thread of its own does that. The store is
// thread-safe; one thread calls the rest.
//
// Anybody may connect. Whoever does not prove with the first message that it belongs to the job
// (proof.h) is a stranger: it learns nothing, nothing that it sends is stored, and the log only
// counts it.
class Leader final : public KeyValueStore {
 public:
  // Listens from now on. Port 0: any that is free. Throws what listen_on() throws.
  Leader(GatheringOptions options, int64_t port);
  ~Leader() override;
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  int64_t port() const { return listener_.port; }
  // A name that no other attempt of the job has. A worker that brings another one is turned away.
  const std::string& attempt() const { return attempt_; }

  // Returns when all workers are there, or enough of them. They get new numbers. Returns their
  // number. Logs the workers for which it waits. Throws kPeerLost where the patience ends, with the
  // ranks that are missing, and kStopped once `stop` is set.
  int64_t gather(const std::atomic<bool>& stop);
  // The address of this host by which the first worker has reached it. After gather().
  std::string own_address() const;

  void set(const std::string& key, Bytes value) override;
  std::vector<std::byte> get(const std::string& key) override;

  // The job is finished: sends this to the workers and waits a little until they have gone.
  void finish();
  // This worker ends before that, with this exit code. Sends the reason to the others.
  void leave(int code, const std::string& why);

 private:
  struct Peer {
    Peer(FileDescriptor fd, const std::string& secret);
    Connection connection;
    const std::string address = connection.other_address();
    const double came_s = steady_clock_s();
    Handshake handshake;
    bool has_answer = false;  // it has said hello, and was accepted or turned away
    int64_t rank = -1;        // -1: it is none of the workers
    std::string host{};
    size_t stored_bytes = 0;  // of all values that it has set
    bool may_go = false;      // it has said that it stops, or has heard that the job is finished
    std::vector<std::string> wanted{};  // the keys that it waits for
  };

  void run(const std::stop_token& stop);
  void wait_for_events();
  void accept_all();
  void handle(Peer& peer, Message message);
  void greet(Peer& peer, const Message& hello);
  void count_stranger(const Peer& peer);
  void tell_strangers(bool at_end);
  void give(Peer& peer);
  void check_peers();
  void lose(int64_t rank, const std::string& host, const std::string& why);
  void tell_all(const Message& message);
  void flush_for(double seconds);
  int64_t come() const;
  void begin();
  std::string missing() const;
  void wake() const;

  const GatheringOptions options_;
  const std::string attempt_;
  const Listener listener_;
  const FileDescriptor wakes_;  // an eventfd that ends a wait
  mutable std::mutex mutex_;    // guards what follows
  std::condition_variable changed_;
  std::list<Peer> peers_;
  std::map<std::string, std::vector<std::byte>> values_;
  bool is_gathered_ = false, is_over_ = false;
  std::string own_address_;
  double alive_sent_s_ = 0;
  double last_came_s_ = 0;
  int64_t strangers_ = 0, strangers_logged_ = 0;
  std::string last_stranger_;  // its address
  double strangers_logged_s_ = 0;
  int64_t gathered_ = 0;       // workers, once they are gathered
  std::optional<Error> lost_;  // for on_lost, which is called without the mutex
  std::jthread thread_;        // declared last: it uses the members above
};

// Where the leader listens.
struct LeaderPlace {
  std::string host{};
  int64_t port = 0;
  std::string attempt{};  // Leader::attempt(), where it is known; empty: any
  std::string secret{};   // of the job
};

// JOB_DIR/rendezvous.json. The worker 0 that wrote it may be of another version, or no berth at
// all: any other text gives nullopt.
std::string to_json(const LeaderPlace& place);
std::optional<LeaderPlace> parse_leader_place(std::string_view json);

// Whether a Leader who knows the secret listens there.
bool is_led(const LeaderPlace& place);

// A worker of another rank than 0, connected to the Leader. The store is thread-safe; one thread
// calls the rest.
class Follower final : public KeyValueStore {
 public:
  // Called again and again until the leader is found; nullopt: the leader has not published its
  // address yet.
  using Find = std::function<std::optional<LeaderPlace>()>;

  Follower(GatheringOptions options, Find find);
  ~Follower() override;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Returns its rank when the workers are there. Returns nullopt if the job is finished, as worker
  // 0 or `is_finished` says. Logs what it waits for. Throws kPeerLost where the patience ends,
  // kIncompatible where the leader refuses this worker, and kStopped once `stop` is set.
  std::optional<GatheredPlace> join(const std::atomic<bool>& stop);
  // The address of this host by which it reached the leader. After join().
  const std::string& own_address() const { return own_address_; }

  void set(const std::string& key, Bytes value) override;
  std::vector<std::byte> get(const std::string& key) override;

  // Waits until the leader says that the job is finished. Throws kPeerLost where it is lost
  // instead, and kStopped where it was stopped or `stop` is set.
  void wait_until_finished(const std::atomic<bool>& stop);
  // This worker ends before that.
  void leave(int code, const std::string& why);

 private:
  enum class Answer { kWelcome, kDone, kAgain };

  std::optional<Answer> answer_to(const Message& message, const LeaderPlace& place,
                                  Handshake& handshake);
  GatheredPlace place_in(const Message& welcome) const;
  Answer ask(const LeaderPlace& place, const std::atomic<bool>& stop);
  static void pause(double seconds, const std::atomic<bool>& stop);
  void say_once(const std::string& what);
  void run(const std::stop_token& stop);
  void handle(Message message);
  void lose(const Error& error);

  const GatheringOptions options_;
  const Find find_;
  double ends_s_ = 0;  // of the patience
  std::string said_;
  std::string own_address_;
  GatheredPlace place_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<Connection> connection_;
  std::set<std::string> asked_;  // the keys
  std::map<std::string, std::vector<std::byte>> values_;
  bool is_finished_ = false, is_leaving_ = false, is_reported_ = false;
  std::optional<Error> lost_;
  std::jthread thread_;  // declared last: it uses the members above
};

}  // namespace berth
