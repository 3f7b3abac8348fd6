#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "storage/storage.h"

namespace berth {

// Remembers the answers of `inner` to list() of a remote directory and to stat() of a remote
// object. It does not remember that an object is absent. open() reads the version that stat()
// found. This is for the start of a job, which looks at the same data several times and writes
// nothing to them. Local paths, and lists that may end early, are looked up each time. The other
// calls pass through. `inner` must outlive this. Thread-safe.
class RememberedLookups final : public Storage {
 public:
  explicit RememberedLookups(Storage& inner) : inner_(inner) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override;
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override;
  std::optional<Stat> stat(const Uri& uri) override;
  std::vector<Stat> list(const Uri& prefix, size_t enough) override;
  void remove(const Uri& uri, std::optional<Generation> if_generation) override;

 private:
  std::optional<Stat> remembered(const Uri& uri);

  Storage& inner_;
  std::mutex mutex_;  // guards the members below; held while a list is fetched
  std::map<std::string, std::vector<Stat>> lists_;
  std::map<std::string, Stat> objects_;
};

}  // namespace berth
