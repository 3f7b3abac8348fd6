#include "storage/remembered_lookups.h"

namespace berth {

std::optional<Stat> RememberedLookups::remembered(const Uri& uri) {
  const std::lock_guard lock(mutex_);
  const auto known = objects_.find(uri.url());
  return known == objects_.end() ? std::nullopt : std::optional(known->second);
}

std::unique_ptr<ByteSource> RememberedLookups::open(const Uri& uri, const ReadOptions& options) {
  ReadOptions completed = options;
  const std::optional<Stat> stat = remembered(uri);
  if (stat && options.known == nullptr) completed.known = &*stat;
  return inner_.open(uri, completed);
}

std::unique_ptr<ByteSink> RememberedLookups::create(const Uri& uri, const WriteOptions& options) {
  return inner_.create(uri, options);
}

std::optional<Stat> RememberedLookups::stat(const Uri& uri) {
  if (uri.is_local()) return inner_.stat(uri);
  if (auto known = remembered(uri)) return known;
  std::optional<Stat> stat = inner_.stat(uri);
  if (stat) {
    const std::lock_guard lock(mutex_);
    objects_.emplace(uri.url(), *stat);
  }
  return stat;
}

std::vector<Stat> RememberedLookups::list(const Uri& prefix, size_t enough) {
  if (prefix.is_local() || enough != SIZE_MAX) return inner_.list(prefix, enough);
  const std::lock_guard lock(mutex_);
  // A directory with and without "/" at its end is the same, but the answer's names may differ.
  const std::string key = prefix.url();
  const auto known = lists_.find(key);
  if (known != lists_.end()) return known->second;
  return lists_.emplace(key, inner_.list(prefix, enough)).first->second;
}

void RememberedLookups::remove(const Uri& uri, std::optional<Generation> if_generation) {
  inner_.remove(uri, if_generation);
}

}  // namespace berth
