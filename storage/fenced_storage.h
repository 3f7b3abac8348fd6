#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "storage/base/clock.h"
#include "storage/file_lock.h"
#include "storage/storage.h"

namespace berth {

// Who takes a lease.
struct LeaseHolder {
  std::string name{};     // for people, such as "host.17"
  std::string process{};  // identifies the process among all others
  // Whether the process of this text has certainly ended. Where that is not known, false.
  std::function<bool(std::string_view process)> has_ended = [](std::string_view) { return false; };
};

// A lease that is older than `lasts_s` by the server's clock may be taken by another process. Its
// holder renews it much more often.
struct LeaseTimes {
  double lasts_s = 30, renewed_every_s = 8;
  double margin_s = 5;  // the holder stops writing this long before the lease could be taken
};

// Who holds a lease, as its object says.
struct LeaseText {
  std::string holder = "another process", process{};
};
// nullopt: somebody keeps other data under the name of a lease.
std::optional<LeaseText> parse_lease(const std::string& text);

// A directory in remote storage, held by one process. The lease is an object there which names its
// holder (Gray and Cheriton 1989: Leases). It is written with preconditions on the object's
// generation, so of two processes one gets it, and a thread of this class renews it. If the process
// is killed, another one takes the lease when it has expired by the server's clock. It takes the
// lease at once if the holder is known to have ended. Where objects may be created and not
// replaced, as in a bucket with a retention policy, there can be no lease: a warning says so.
// Thread-safe.
class RemoteLease {
 public:
  // Takes the lease `object`. While another process's lease has not expired, waits: either that
  // process renews it, or the lease expires. Throws kInUse, with the holder's name, if the lease is
  // renewed or another process takes it first. Throws kNotPermitted if the object is not a lease,
  // and kStopped once `stop` is set. Borrows `storage`.
  RemoteLease(Storage& storage, Uri object, LeaseHolder holder, const std::atomic<bool>& stop,
              const LeaseTimes& times = {});
  ~RemoteLease();  // gives it back
  RemoteLease(const RemoteLease&) = delete;
  RemoteLease& operator=(const RemoteLease&) = delete;

  const Uri& object() const { return object_; }

  // Returns when no other process holds the lease `other`, a second object, or when that object is
  // no lease. A lease that has expired, or whose holder has ended, is removed, so that a holder
  // that was only suspended notices. Waits as the constructor does. Throws kInUse, about the
  // directory `wanted`, where another process holds it, and kStopped once `stop` is set.
  void require_free(const Uri& other, const Uri& wanted, const std::atomic<bool>& stop) const;

  // Removes the object if this process still holds the lease. After that require_held() throws. A
  // second call waits for the first one. Throws nothing: a lease that is not removed expires by
  // itself.
  void give_back() noexcept;

  // Returns when this process may write: the lease was renewed not long ago, or is renewed now.
  // Throws kInUse if another process took it, and what the storage throws if it cannot be reached.
  // Throws kUnavailable if a renewal took so long that the lease may have expired meanwhile.
  void require_held();

 private:
  void take(const std::atomic<bool>& stop);
  // Writes the object over this generation. Returns false if that is not the current one.
  bool write(Generation over);
  // Returns whether the version `seen` of a lease has expired or is gone. It waits until then, or
  // until its holder renews it.
  bool expires(const Uri& lease, const Stat& seen, const std::atomic<bool>& stop) const;
  std::optional<double> server_time_s() const;
  void renew_until(const std::stop_token& ends);
  void renew();
  // Renews the lease if the object names this process: an earlier renewal was stored, and its
  // answer was lost.
  bool renew_own();
  [[noreturn]] void throw_taken() const;
  bool go_unfenced(const Error& error);  // returns true

  Storage& storage_;
  const Uri object_;
  const LeaseHolder holder_;
  const LeaseTimes times_;

  std::mutex writing_;  // held while the object is written
  std::mutex mutex_;    // guards what follows
  std::condition_variable_any changed_;
  Generation generation_ = 0;
  double held_until_s_ = 0;  // by boot_clock_s()
  bool is_lost_ = false;
  bool was_replaced_ = false;  // the object was replaced once, so that is possible here
  bool is_unfenced_ = false;   // objects cannot be replaced here

  std::jthread renewal_;  // the last member, so that it ends before the others
};

// Passes every call on to `inner`. Guards the directories whose lease or lock this process holds.
// Each write and removal there first checks that the process still holds it. The close of a sink,
// which publishes an object, checks it, too. So a process that lost its directory writes nothing
// more there, and does not create a removed directory again. Thread-safe. Borrows `inner`.
class FencedStorage final : public StorageLayer {
 public:
  // `now` measures the time of the last acts.
  explicit FencedStorage(Storage& inner, Clock now = boot_clock_s)
      : StorageLayer(inner), now_(std::move(now)) {}

  class Fence;

  // Gives all leases back, for a process that is about to end while other threads are busy. Nothing
  // can be written to their directories after that. Returns at once where there are none.
  void give_back_leases() noexcept;
  // Whether a lease is being given back, by give_back_leases() or by the end of a Fence. Requests
  // of that time should not give up because the job was stopped.
  bool gives_back() const { return giving_back_ > 0; }

  // To be called where a failure ends the job. Its last acts, such as giving leases back, then have
  // 10 s in all: once these are over, requests should not be retried. So a job whose storage cannot
  // be reached does not wait for it again and again. Only the first call counts. A Fence that ends
  // while an exception is thrown calls it, and so does give_back_leases().
  void begin_last_acts() noexcept;
  bool last_acts_are_over() const { return now_() >= last_acts_until_s_; }

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override;
  void remove(const Uri& uri, std::optional<Generation> if_generation) override;

 private:
  class Sink;
  // Throws what require_held() of RemoteLease and FileLock throws, for each fence above `uri`.
  void require_held(const Uri& uri);

  const Clock now_;
  std::atomic<double> last_acts_until_s_ = std::numeric_limits<double>::infinity();
  std::atomic<int> giving_back_ = 0;
  std::shared_mutex mutex_;
  std::vector<Fence*> fences_;
};

// A directory that this process holds until this is destroyed.
class FencedStorage::Fence {
 public:
  // Takes the lease `lease_name` in the directory. Throws what RemoteLease's constructor throws.
  // Borrows `storage`.
  Fence(FencedStorage& storage, const Uri& directory, std::string_view lease_name,
        LeaseHolder holder, const std::atomic<bool>& stop, const LeaseTimes& times = {});
  // Keeps the lock of a local directory that has these names. Borrows `storage`.
  Fence(FencedStorage& storage, std::vector<Uri> directories, FileLock lock);
  ~Fence();
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  // As RemoteLease::require_free(). This fence has a lease.
  void require_free(const Uri& other, const Uri& wanted, const std::atomic<bool>& stop) const;

 private:
  friend class FencedStorage;

  bool is_above(const Uri& uri) const;
  void require_held();
  void give_back() noexcept;
  void begin();  // from now on the storage asks this fence

  FencedStorage& storage_;
  const std::vector<Uri> directories_;
  std::optional<RemoteLease> lease_;  // one of the two is there
  std::optional<FileLock> lock_;
};

}  // namespace berth
