#include "storage/fenced_storage.h"

#include <algorithm>
#include <cassert>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/clock.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

using Seconds = std::chrono::duration<double>;

void pause(double seconds, const std::atomic<bool>& stop) {
  constexpr double kStep = 0.05;
  for (double left = seconds; left > 0 && !stop; left -= kStep) {
    std::this_thread::sleep_for(Seconds(std::min(left, kStep)));
  }
  if (stop) {
    throw Error(Code::kStopped, "a signal stopped the job", "",
                "start it again with the same command");
  }
}

}  // namespace

std::optional<LeaseText> parse_lease(const std::string& text) {
  const Json object = parse_json(text);
  if (!object.is_object() || !object.contains("holder")) return std::nullopt;
  const JsonObject members(&object);
  const LeaseText unnamed;
  return LeaseText{.holder = members.text("holder").value_or(unnamed.holder),
                   .process = members.text("process").value_or(unnamed.process)};
}

namespace {

struct SeenLease {
  LeaseText text{};
  Stat stat{};
};

// nullopt: there is no object, or it is no lease.
std::optional<SeenLease> read_lease(Storage& storage, const Uri& object) {
  const std::optional<Stat> seen = storage.stat(object);
  const std::optional<std::string> text = seen ? read_text(storage, object) : std::nullopt;
  const std::optional<LeaseText> lease = text ? parse_lease(*text) : std::nullopt;
  if (!lease) return std::nullopt;
  return SeenLease{.text = *lease, .stat = *seen};
}

}  // namespace

RemoteLease::RemoteLease(Storage& storage, Uri object, LeaseHolder holder,
                         const std::atomic<bool>& stop, const LeaseTimes& times)
    : storage_(storage), object_(std::move(object)), holder_(std::move(holder)), times_(times) {
  take(stop);
  renewal_ = std::jthread([this](const std::stop_token& ends) { renew_until(ends); });
}

RemoteLease::~RemoteLease() {
  renewal_.request_stop();
  changed_.notify_all();
  if (renewal_.joinable()) renewal_.join();
  give_back();
}

void RemoteLease::give_back() noexcept try {
  const std::lock_guard lock(writing_);
  Generation held;
  {
    const std::lock_guard state(mutex_);
    if (is_lost_ || is_unfenced_) return;
    is_lost_ = true;
    held = generation_;
  }
  storage_.remove(object_, held);
} catch (const std::exception& error) {
  log_debug(cat("the lease is not removed: ", error.what()));
}

void RemoteLease::take(const std::atomic<bool>& stop) {
  constexpr int kAttempts = 5;  // others come and go meanwhile
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::optional<Stat> seen = storage_.stat(object_);
    if (!seen) {
      if (write(0)) return;
      continue;
    }
    const std::optional<std::string> text = read_text(storage_, object_);
    if (!text) continue;
    const std::optional<LeaseText> other = parse_lease(*text);
    if (!other) {
      throw Error(Code::kNotPermitted, "holds other data and is not a lease", object_.to_string(),
                  "berth keeps its lease there while it writes here; remove what has its name, or "
                  "use another directory");
    }
    if (!holder_.has_ended(other->process) && !expires(object_, *seen, stop)) throw_taken();
    if (!write(seen->generation)) continue;
    if (is_unfenced_) return;
    log_info(cat("took over the lease of ", printable(other->holder),
                 ", which ended without giving ", object_.to_string(), " back"));
    return;
  }
  throw_taken();
}

bool RemoteLease::write(Generation over) {
  const std::lock_guard lock(writing_);
  {
    const std::lock_guard state(mutex_);
    if (is_lost_) return false;  // it was given back meanwhile
  }
  const double begin_s = boot_clock_s();
  const std::string text = to_text(
      Json{{"holder", holder_.name}, {"process", holder_.process}, {"lasts_s", times_.lasts_s}});
  try {
    const Stat written =
        store_object(storage_, object_, [&text](ByteSink& sink) { sink.write(as_bytes(text)); },
                     {.if_generation = over, .size_hint = text.size()});
    const std::lock_guard state(mutex_);
    generation_ = written.generation;
    held_until_s_ = begin_s + times_.lasts_s - times_.margin_s;
    was_replaced_ = was_replaced_ || over != 0;
    changed_.notify_all();
    return true;
  } catch (const Error& error) {
    // Only this function writes was_replaced_, so it is read here without the lock.
    const bool never_works = over != 0 && !was_replaced_;
    if (error.code() == Code::kNotPermitted && never_works) return go_unfenced(error);
    if (error.code() != Code::kInUse) throw;
    return false;
  }
}

bool RemoteLease::go_unfenced(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!is_unfenced_) {
    log_warning(
        cat("the lease cannot be renewed, so nothing keeps a second job out of this directory: ",
            error.what()));
  }
  is_unfenced_ = true;
  return true;
}

// The time that the server gives to an object written now. nullopt if the server sends none.
std::optional<double> RemoteLease::server_time_s() const {
  const Uri probe = object_.with_path(cat(object_.path(), ".", holder_.name, ".clock"));
  const Stat written = store_object(storage_, probe, [](ByteSink&) {});
  try {
    storage_.remove(probe);
  } catch (const Error& error) {
    if (error.code() != Code::kNotPermitted) throw;  // nothing can be removed there
  }
  return written.updated_s;
}

bool RemoteLease::expires(const Uri& lease, const Stat& seen, const std::atomic<bool>& stop) const {
  double left_s = times_.lasts_s;
  const std::optional<double> now_s = seen.updated_s ? server_time_s() : std::nullopt;
  if (now_s) left_s -= *now_s - *seen.updated_s;
  left_s = std::min(left_s, times_.lasts_s);
  if (left_s > 0) {
    log_info(cat("waiting until the lease ", lease.to_string(), " expires or is renewed"));
  }
  while (left_s > 0) {
    const double step_s = std::min(left_s, times_.renewed_every_s / 4);
    pause(step_s, stop);
    left_s -= step_s;
    const std::optional<Stat> now = storage_.stat(lease);
    if (!now) return true;
    if (now->generation != seen.generation) return false;
  }
  return true;
}

void RemoteLease::require_free(const Uri& other, const Uri& wanted,
                               const std::atomic<bool>& stop) const {
  const std::optional<SeenLease> lease = read_lease(storage_, other);
  if (!lease) return;
  bool is_free = holder_.has_ended(lease->text.process) || expires(other, lease->stat, stop);
  if (is_free) {
    try {
      storage_.remove(other, lease->stat.generation);
    } catch (const Error& error) {
      const bool is_kept = error.code() == Code::kNotPermitted;  // nothing can be removed there
      if (error.code() != Code::kInUse && !is_kept) throw;
      is_free = is_kept || !storage_.stat(other);  // or its holder gave it back meanwhile
    }
  }
  if (is_free) return;
  throw Error(Code::kInUse,
              cat("another process writes there: ", printable(lease->text.holder),
                  " holds the lease ", other.to_string()),
              wanted.to_string(), "wait until it ends, stop it, or use another directory");
}

void RemoteLease::throw_taken() const {
  const LeaseText other =
      parse_lease(read_text(storage_, object_).value_or("")).value_or(LeaseText());
  throw Error(Code::kInUse,
              cat("another process writes there: ", printable(other.holder), " holds the lease"),
              object_.to_string(), "wait until it ends, stop it, or use another directory");
}

void RemoteLease::renew_until(const std::stop_token& ends) {
  while (!ends.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      if (is_lost_ || is_unfenced_) return;
      changed_.wait_for(lock, ends, Seconds(times_.renewed_every_s),
                        [&ends] { return ends.stop_requested(); });
    }
    if (ends.stop_requested()) return;
    try {
      renew();
    } catch (const Error& error) {  // the next attempt may succeed; until then nothing is written
      log_warning(cat("the lease could not be renewed: ", error.what()));
    }
  }
}

void RemoteLease::renew() {
  Generation over;
  {
    const std::lock_guard lock(mutex_);
    if (is_lost_) return;
    over = generation_;
  }
  if (write(over) || renew_own()) return;
  const std::lock_guard lock(mutex_);
  if (generation_ == over) is_lost_ = true;  // else a renewal on another thread came first
}

bool RemoteLease::renew_own() {
  const std::optional<SeenLease> lease = read_lease(storage_, object_);
  const bool is_own = lease && !holder_.process.empty() && lease->text.process == holder_.process;
  return is_own && write(lease->stat.generation);
}

void RemoteLease::require_held() {
  bool is_lost = false;
  const auto is_held = [&] {
    const std::lock_guard lock(mutex_);
    is_lost = is_lost_;
    return is_unfenced_ || (!is_lost_ && boot_clock_s() < held_until_s_);
  };
  if (is_held()) return;
  renew();
  if (is_held()) return;
  if (!is_lost) {
    throw Error(Code::kUnavailable, "the lease of this job was renewed too slowly to be valid",
                object_.to_string(), "start the job again; it goes on from its last checkpoint");
  }
  throw Error(Code::kInUse, "another process has taken the lease of this job", object_.to_string(),
              "this process was stopped or cut off for long; let the other one go on");
}

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
  lease_.emplace(storage_.inner(), directory / lease_name, std::move(holder), stop, times);
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
  if (std::uncaught_exceptions() > 0) storage_.begin_last_acts();
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

void FencedStorage::begin_last_acts() noexcept {
  constexpr double kLastActs_s = 10;
  double unset = std::numeric_limits<double>::infinity();
  last_acts_until_s_.compare_exchange_strong(unset, now_() + kLastActs_s);
}

void FencedStorage::give_back_leases() noexcept {
  begin_last_acts();
  const std::shared_lock lock(mutex_);
  for (Fence* fence : fences_) fence->give_back();
}

void FencedStorage::require_held(const Uri& uri) {
  const std::shared_lock lock(mutex_);
  for (Fence* fence : fences_) {
    if (fence->is_above(uri)) fence->require_held();
  }
}

std::unique_ptr<ByteSink> FencedStorage::create(const Uri& uri, const WriteOptions& options) {
  require_held(uri);
  return std::make_unique<Sink>(*this, uri, inner().create(uri, options));
}

void FencedStorage::remove(const Uri& uri, std::optional<Generation> if_generation) {
  require_held(uri);
  inner().remove(uri, if_generation);
}

}  // namespace berth
