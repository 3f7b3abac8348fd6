#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "storage/file_lock.h"
#include "storage/remote_lease.h"
#include "storage/storage.h"

namespace berth {

// Passes every call on to `inner`. Guards the directories whose lease or lock this process holds.
// Each write and removal there first checks that the process still holds it. The close of a sink,
// which publishes an object, checks it, too. So a process that lost its directory writes nothing
// more there, and does not create a removed directory again. Thread-safe. Borrows `inner`.
class FencedStorage final : public Storage {
 public:
  explicit FencedStorage(Storage& inner) : inner_(inner) {}

  class Fence;

  // Gives all leases back, for a process that is about to end while other threads are busy. Nothing
  // can be written to their directories after that. Returns at once where there are none.
  void give_back_leases() noexcept;
  // Whether a lease is being given back, by give_back_leases() or by the end of a Fence. Requests
  // of that time should not give up because the job was stopped.
  bool gives_back() const { return giving_back_ > 0; }

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override;
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override;
  std::optional<Stat> stat(const Uri& uri) override;
  std::vector<Stat> list(const Uri& prefix, size_t enough) override;
  void remove(const Uri& uri, std::optional<Generation> if_generation) override;

 private:
  class Sink;
  // Throws what require_held() of RemoteLease and FileLock throws, for each fence above `uri`.
  void require_held(const Uri& uri);

  Storage& inner_;
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
