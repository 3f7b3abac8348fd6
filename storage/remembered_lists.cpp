#include "storage/remembered_lists.h"

namespace berth {

std::unique_ptr<ByteSource> RememberedLists::open(const Uri& uri, const ReadOptions& options) {
  return inner_.open(uri, options);
}

std::unique_ptr<ByteSink> RememberedLists::create(const Uri& uri, const WriteOptions& options) {
  return inner_.create(uri, options);
}

std::optional<Stat> RememberedLists::stat(const Uri& uri) { return inner_.stat(uri); }

std::vector<Stat> RememberedLists::list(const Uri& prefix, size_t enough) {
  if (prefix.is_local() || enough != SIZE_MAX) return inner_.list(prefix, enough);
  const std::lock_guard lock(mutex_);
  // A directory with and without "/" at its end is the same, but the answer's names may differ.
  const std::string key = prefix.url();
  const auto known = lists_.find(key);
  if (known != lists_.end()) return known->second;
  return lists_.emplace(key, inner_.list(prefix, enough)).first->second;
}

void RememberedLists::remove(const Uri& uri, std::optional<Generation> if_generation) {
  inner_.remove(uri, if_generation);
}

}  // namespace berth
