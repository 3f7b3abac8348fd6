#include "storage/fenced_storage.h"

#include <algorithm>
#include <cassert>
#include <mutex>
#include <utility>

namespace berth {
namespace {

bool is_below(const Uri& uri, const Uri& directory) {
  std::string above = directory.path();
  if (!above.empty() && above.back() != '/') above += '/';
  return uri.scheme() == directory.scheme() && uri.host() == directory.host() &&
         uri.path().starts_with(above);
}

}  // namespace

class FencedStorage::Sink final : public ByteSink {
 public:
  Sink(FencedStorage& storage, Uri uri, std::unique_ptr<ByteSink> inner)
      : storage_(storage), uri_(std::move(uri)), inner_(std::move(inner)) {}

  void write(Bytes bytes) override { inner_->write(bytes); }
  void lend(Bytes bytes) override { inner_->lend(bytes); }
  Stat close() override {
    storage_.require_held(uri_);
    return inner_->close();
  }

 private:
  FencedStorage& storage_;
  const Uri uri_;
  const std::unique_ptr<ByteSink> inner_;
};

FencedStorage::Fence::Fence(FencedStorage& storage, const Uri& directory,
                            std::string_view lease_name, LeaseHolder holder,
                            const std::atomic<bool>& stop, const LeaseTimes& times)
    : storage_(storage), directories_{directory} {
  lease_.emplace(storage_.inner_, directory / lease_name, std::move(holder), stop, times);
  begin();
}

FencedStorage::Fence::Fence(FencedStorage& storage, std::vector<Uri> directories, FileLock lock)
    : storage_(storage), directories_(std::move(directories)), lock_(std::move(lock)) {
  begin();
}

void FencedStorage::Fence::begin() {
  const std::unique_lock lock(storage_.mutex_);
  storage_.fences_.push_back(this);
}

FencedStorage::Fence::~Fence() {
  give_back();
  const std::unique_lock lock(storage_.mutex_);
  std::erase(storage_.fences_, this);
}

bool FencedStorage::Fence::is_above(const Uri& uri) const {
  return std::any_of(directories_.begin(), directories_.end(),
                     [&](const Uri& directory) { return is_below(uri, directory); });
}

void FencedStorage::Fence::require_held() {
  if (lease_) lease_->require_held();
  if (lock_) lock_->require_held();
}

void FencedStorage::Fence::require_free(const Uri& other, const Uri& wanted,
                                        const std::atomic<bool>& stop) const {
  assert(lease_);
  lease_->require_free(other, wanted, stop);
}

void FencedStorage::Fence::give_back() noexcept {
  if (!lease_) return;
  ++storage_.giving_back_;
  lease_->give_back();
  --storage_.giving_back_;
}

void FencedStorage::give_back_leases() noexcept {
  const std::shared_lock lock(mutex_);
  for (Fence* fence : fences_) fence->give_back();
}

void FencedStorage::require_held(const Uri& uri) {
  const std::shared_lock lock(mutex_);
  for (Fence* fence : fences_) {
    if (fence->is_above(uri)) fence->require_held();
  }
}

std::unique_ptr<ByteSource> FencedStorage::open(const Uri& uri, const ReadOptions& options) {
  return inner_.open(uri, options);
}

std::unique_ptr<ByteSink> FencedStorage::create(const Uri& uri, const WriteOptions& options) {
  require_held(uri);
  return std::make_unique<Sink>(*this, uri, inner_.create(uri, options));
}

std::optional<Stat> FencedStorage::stat(const Uri& uri) { return inner_.stat(uri); }

std::vector<Stat> FencedStorage::list(const Uri& prefix, size_t enough) {
  return inner_.list(prefix, enough);
}

void FencedStorage::remove(const Uri& uri, std::optional<Generation> if_generation) {
  require_held(uri);
  inner_.remove(uri, if_generation);
}

}  // namespace berth
