#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "entrypoint/gathering/connection.h"
#include "entrypoint/gathering/gathering.h"
#include "entrypoint/gathering/proof.h"
#include "trainer/distributed/key_value_store.h"

namespace berth {

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

}  // namespace berth
