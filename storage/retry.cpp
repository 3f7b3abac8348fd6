#include "storage/retry.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <type_traits>
#include <utility>

#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr double kLongestRetryAfter_s = 60;
constexpr double kLongestNap_s = 0.5;  // between two looks at the stop token

}  // namespace

double RetryOptions::random_fraction() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

Retry::Retry(const RetryOptions& options, std::string what, std::stop_token stop)
    : options_(options), what_(std::move(what)), stop_(std::move(stop)), since_s_(options.now()) {}

void Retry::progress() {
  failures_ = 0;
  since_s_ = options_.now();
}

void Retry::resume() { since_s_ = options_.now(); }

void Retry::wait(const Error& error) {
  if (error.code() != Code::kUnavailable) throw error;
  ++failures_;
  const double elapsed_s = options_.now() - since_s_;
  const double most_s = std::min(options_.first_pause_s * std::exp2(std::min(failures_ - 1, 30)),
                                 options_.longest_pause_s);
  const double pause_s =
      std::max(most_s * options_.random(), std::min(error.pause_s(), kLongestRetryAfter_s));
  const bool is_last =
      failures_ >= options_.max_attempts || elapsed_s + pause_s > options_.deadline_s;
  log_debug(
      cat(what_, ": attempt ", failures_, " failed: ", error.what(),
          is_last ? "; giving up" : cat("; again in ", std::round(pause_s * 100) / 100, " s")));
  if (is_last) {
    throw Error(error.code(),
                cat(error.problem(), " (", failures_, failures_ == 1 ? " attempt" : " attempts",
                    " without progress in ", std::llround(elapsed_s), " s)"),
                error.where(), error.hint());
  }
  for (double left_s = pause_s; left_s > 0; left_s -= kLongestNap_s) {
    if (stop_.stop_requested() || (options_.gives_up && options_.gives_up()))
      throw Error(Code::kStopped, "stopped between two attempts", error.where());
    options_.sleep(std::min(left_s, kLongestNap_s));
  }
}

namespace {

constexpr size_t kSlice = size_t{4} << 20;
constexpr double kLeastWritePause_s =
    1;  // between two writes of one object; more often is answered 429

// Calls `call` until it succeeds, or until an error is not worth another attempt.
template <typename Call>
auto attempt(Retry& retry, const Call& call) {
  while (true) {
    try {
      return call();
    } catch (const UploadLost&) {
      throw;
    } catch (const Error& error) {
      retry.wait(error);
    }
  }
}

// Delays a write if the same object was written less than a second ago. Thread-safe.
class WritePace {
 public:
  explicit WritePace(const RetryOptions& options) : options_(options) {}

  void wait_for(const std::string& name) {
    double pause_s = 0;
    {
      const std::lock_guard lock(mutex_);
      const double now = options_.now();
      std::erase_if(free_at_s_, [now](const auto& entry) { return entry.second <= now; });
      double& free_at = free_at_s_.try_emplace(name, now).first->second;
      pause_s = free_at - now;
      free_at += kLeastWritePause_s;
    }
    if (pause_s > 0) options_.sleep(pause_s);
  }

 private:
  const RetryOptions& options_;
  std::mutex mutex_;
  std::map<std::string, double> free_at_s_;
};

class RetryingSource final : public ByteSource {
 public:
  RetryingSource(Storage& inner, Uri uri, ReadOptions options, const RetryOptions& retry)
      : inner_(inner),
        uri_(std::move(uri)),
        options_(std::move(options)),
        retry_(retry, cat("read ", uri_.to_string()), options_.stop) {
    attempt(retry_, [this] { open(); });
  }

  size_t read(std::span<std::byte> buffer) override {
    if (options_.length == uint64_t{0}) return 0;
    retry_.resume();
    return attempt(retry_, [&] {
      if (!source_) open();
      try {
        const size_t count = source_->read(buffer);
        advance(count);
        return count;
      } catch (...) {
        source_.reset();
        throw;
      }
    });
  }

 private:
  void open() { source_ = inner_.open(uri_, options_); }

  void advance(size_t count) {
    if (count == 0) return;
    retry_.progress();
    options_.offset += count;
    if (options_.length) *options_.length -= std::min<uint64_t>(count, *options_.length);
  }

  Storage& inner_;
  const Uri uri_;
  ReadOptions options_;  // describes what is still to be read
  Retry retry_;
  std::unique_ptr<ByteSource> source_;  // null after a failure
};

class RetryingSink final : public ByteSink {
 public:
  RetryingSink(std::unique_ptr<ByteSink> inner, std::string name, const RetryOptions& options,
               WritePace& pace)
      : inner_(std::move(inner)), name_(std::move(name)), options_(options), pace_(pace) {}

  void write(Bytes bytes) override { pass_on(bytes, &ByteSink::write); }
  void lend(Bytes bytes) override { pass_on(bytes, &ByteSink::lend); }

  Stat close() override {
    pace_.wait_for(name_);
    return attempt_to([&] { return inner_->close(); });
  }

 private:
  template <typename Call>
  std::invoke_result_t<const Call&> attempt_to(const Call& call) {
    Retry retry(options_, cat("write ", name_));
    return attempt(retry, [&] {
      if (inner_->arrived() > std::exchange(arrived_, inner_->arrived())) retry.progress();
      return call();
    });
  }

  // Passes the bytes on in slices, because the sink keeps whatever it was given until it has been
  // sent.
  void pass_on(Bytes bytes, void (ByteSink::*pass)(Bytes)) {
    while (!bytes.empty()) {
      Bytes slice = bytes.first(std::min(bytes.size(), kSlice));
      bytes = bytes.subspan(slice.size());
      attempt_to([&] { (*inner_.*pass)(std::exchange(slice, {})); });
    }
  }

  const std::unique_ptr<ByteSink> inner_;
  const std::string name_;
  const RetryOptions& options_;
  WritePace& pace_;
  uint64_t arrived_ = 0;  // at the last attempt
};

// Inner is Storage or JoiningStorage.
template <typename Inner>
class RetryingStorage : public Inner {
 public:
  RetryingStorage(std::unique_ptr<Inner> inner, const RetryOptions& options)
      : options_(options), inner_(std::move(inner)), pace_(options_) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    ReadOptions pinned = options;
    if (!pinned.generation) {
      const std::optional<Stat> found = this->stat(uri);
      if (found && found->generation != 0) pinned.generation = found->generation;
    }
    return std::make_unique<RetryingSource>(*inner_, uri, pinned, options_);
  }

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    Retry retry(options_, cat("write ", uri.to_string()));
    return retrying(attempt(retry, [&] { return inner_->create(uri, options); }), uri);
  }

  std::optional<Stat> stat(const Uri& uri) override {
    Retry retry(options_, cat("look up ", uri.to_string()));
    return attempt(retry, [&] { return inner_->stat(uri); });
  }

  std::vector<Stat> list(const Uri& prefix, size_t enough) override {
    Retry retry(options_, cat("list ", prefix.to_string()));
    return attempt(retry, [&] { return inner_->list(prefix, enough); });
  }

  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    Retry retry(options_, cat("remove ", uri.to_string()));
    attempt(retry, [&] { inner_->remove(uri, if_generation); });
  }

 protected:
  std::unique_ptr<ByteSink> retrying(std::unique_ptr<ByteSink> sink, const Uri& uri) {
    return std::make_unique<RetryingSink>(std::move(sink), uri.to_string(), options_, pace_);
  }
  Inner& inner() { return *inner_; }

 private:
  const RetryOptions options_;
  const std::unique_ptr<Inner> inner_;
  WritePace pace_;
};

class RetryingJoiningStorage final : public RetryingStorage<JoiningStorage> {
 public:
  using RetryingStorage::RetryingStorage;

  // Nothing is sent before close(), so only that is retried.
  std::unique_ptr<ByteSink> join(const Uri& uri, std::vector<Stat> parts,
                                 Generation if_generation) override {
    return retrying(inner().join(uri, std::move(parts), if_generation), uri);
  }
};

}  // namespace

std::unique_ptr<Storage> make_retrying_storage(std::unique_ptr<Storage> inner,
                                               const RetryOptions& options) {
  return std::make_unique<RetryingStorage<Storage>>(std::move(inner), options);
}

std::unique_ptr<JoiningStorage> make_retrying_storage(std::unique_ptr<JoiningStorage> inner,
                                                      const RetryOptions& options) {
  return std::make_unique<RetryingJoiningStorage>(std::move(inner), options);
}

}  // namespace berth
