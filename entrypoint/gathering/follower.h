#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "entrypoint/gathering/connection.h"
#include "entrypoint/gathering/gathering.h"
#include "entrypoint/gathering/proof.h"
#include "trainer/distributed/key_value_store.h"

namespace berth {

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
