#include "storage/parallel_sink.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// The sink starts with kFastConnections connections. If that many parts in a row take longer than
// this, the network is the limit and all connections are used. If parts are faster, the machine
// itself is the limit, and more connections would only compete for its caches.
constexpr std::chrono::milliseconds kFastPart{50};
constexpr size_t kFastConnections = 3;

class ParallelSink final : public ByteSink {
 public:
  ParallelSink(JoiningStorage& inner, const Uri& uri, const WriteOptions& write,
               const TransferOptions& options)
      : inner_(inner),
        uri_(uri),
        parts_uri_(Uri::parse(uri.to_string() + ".parts")),
        write_(write),
        part_bytes_(options.upload_part_bytes),
        connections_(static_cast<size_t>(std::max(options.connections, 1))),
        most_open_(std::min(connections_, kFastConnections)) {
    if (write_.if_generation) return;
    const std::optional<Stat> replaced = inner_.stat(uri_);
    write_.if_generation = replaced ? replaced->generation : 0;
  }

  ~ParallelSink() override {
    for (std::jthread& thread : threads_) thread.request_stop();
  }

  void write(Bytes bytes) override { fill(bytes, &ByteSink::write); }
  void lend(Bytes bytes) override { fill(bytes, &ByteSink::lend); }

  Stat close() override {
    if (filling_) hand_over(std::move(filling_));
    await_closed();
    while (stats_.size() > JoiningStorage::kMaxJoined) join_groups();
    try {
      const Stat published = whole()->close();
      tidy();
      return published;
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) tidy();
      throw;
    }
  }

 private:
  // A part that is complete but not closed yet. Closing uploads it, which takes time.
  struct Full {
    size_t index;
    std::unique_ptr<ByteSink> sink;
  };

  Uri part_uri(std::string_view which) const { return parts_uri_ / cat(upload_, "-", which); }

  void fill(Bytes bytes, void (ByteSink::*pass)(Bytes)) {
    while (!bytes.empty()) {
      if (!filling_) start_part();
      const Bytes piece = bytes.first(std::min<uint64_t>(bytes.size(), part_bytes_ - filled_));
      (*filling_.*pass)(piece);
      filled_ += piece.size();
      bytes = bytes.subspan(piece.size());
      if (filled_ == part_bytes_) hand_over(std::move(filling_));
    }
  }

  // The part's sink sends nothing until it is closed.
  void start_part() {
    await([this] { return open_ < most_open_; });
    filling_ =
        inner_.create(part_uri(cat(stats_.size())), {.if_generation = 0, .size_hint = part_bytes_});
    filled_ = 0;
  }

  // The sink of the whole object, which only needs to be closed.
  std::unique_ptr<ByteSink> whole() {
    if (stats_.empty()) return inner_.create(uri_, write_);  // no bytes, so no parts
    return inner_.join(uri_, stats_, write_.if_generation.value());
  }

  // Joins the parts in groups of at most JoiningStorage::kMaxJoined. stats_ then describes the
  // groups.
  void join_groups() {
    const std::vector<Stat> parts = std::exchange(stats_, {});
    for (size_t first = 0; first < parts.size(); first += JoiningStorage::kMaxJoined) {
      const size_t last = std::min(first + JoiningStorage::kMaxJoined, parts.size());
      const auto at = [&](size_t i) { return parts.begin() + static_cast<ptrdiff_t>(i); };
      hand_over(inner_.join(part_uri(cat("joined-", joined_++)), {at(first), at(last)}, 0));
    }
    await_closed();
  }

  void hand_over(std::unique_ptr<ByteSink> sink) {
    const std::lock_guard lock(mutex_);
    full_.push_back({stats_.size(), std::move(sink)});
    stats_.emplace_back();
    ++open_;
    if (threads_.size() < std::min(open_, connections_)) {
      threads_.emplace_back([this](const std::stop_token& stop) { close_full(stop); });
    }
    changed_.notify_all();
  }

  template <typename Condition>
  void await(const Condition& condition) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return condition() || failure_; });
    if (failure_) std::rethrow_exception(failure_);
  }
  void await_closed() {
    await([this] { return open_ == 0; });
  }

  // The body of each thread: closes the sinks of full parts.
  void close_full(const std::stop_token& stop) {
    while (const std::optional<Full> full = take(stop)) {
      Stat stat;
      std::exception_ptr failure;
      const auto begin = std::chrono::steady_clock::now();
      try {
        stat = full->sink->close();
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      stats_[full->index] = std::move(stat);
      if (!failure_) failure_ = failure;
      const bool is_slow = std::chrono::steady_clock::now() - begin > kFastPart;
      slow_in_a_row_ = is_slow ? slow_in_a_row_ + 1 : 0;
      if (slow_in_a_row_ >= kFastConnections) most_open_ = connections_;
      --open_;
      changed_.notify_all();
    }
  }

  std::optional<Full> take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return !full_.empty() || failure_; }) || failure_) {
      return std::nullopt;
    }
    Full full = std::move(full_.front());
    full_.pop_front();
    return full;
  }

  // Removes all parts: joining may not delete them, and a killed upload of this object may have
  // left some.
  void tidy() {
    try {
      for (const Stat& left : inner_.list(parts_uri_)) inner_.remove(Uri::parse(left.name));
    } catch (const Error& error) {
      log_debug(cat("parts of an upload were not removed: ", error.what()));
    }
  }

  JoiningStorage& inner_;
  const Uri uri_, parts_uri_;
  WriteOptions write_;
  const uint64_t part_bytes_;
  const size_t connections_;
  const std::string upload_ = random_letters(12);  // prefix of the parts' names

  std::unique_ptr<ByteSink> filling_;
  uint64_t filled_ = 0;
  size_t joined_ = 0;  // number of groups

  std::mutex mutex_;  // guards all members below
  std::condition_variable_any changed_;
  std::deque<Full> full_;
  std::vector<Stat> stats_;  // of the closed parts, later of their groups
  size_t open_ = 0;          // parts handed over and not closed yet
  size_t most_open_;         // upper bound of open_
  size_t slow_in_a_row_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  // declared last: the threads use the members above
};

}  // namespace

std::unique_ptr<ByteSink> make_parallel_sink(JoiningStorage& inner, const Uri& uri,
                                             const WriteOptions& write,
                                             const TransferOptions& options) {
  return std::make_unique<ParallelSink>(inner, uri, write, options);
}

}  // namespace berth
