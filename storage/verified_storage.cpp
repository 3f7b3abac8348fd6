#include "storage/verified_storage.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "storage/archive.h"
#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/storage.h"

namespace berth {
namespace {

constexpr double kFirst_s = 2, kPause_s = 5;

}  // namespace

TransferMeter::TransferMeter(const TellProgress& tell, TransferProgress about, Clock now)
    : tell_(tell), now_(std::move(now)), began_s_(now_()), progress_(std::move(about)) {}

void TransferMeter::add(uint64_t bytes) {
  if (!tell_) return;
  const double now_s = now_();
  const std::lock_guard lock(mutex_);
  progress_.bytes += bytes;
  if (progress_.finished) return;
  if (now_s >= (reported_s_ ? *reported_s_ + kPause_s : began_s_ + kFirst_s)) tell(now_s);
}

void TransferMeter::finish() {
  const std::lock_guard lock(mutex_);
  if (!reported_s_ || std::exchange(progress_.finished, true)) return;
  tell(now_());
}

void TransferMeter::tell(double now_s) {
  reported_s_ = now_s;
  progress_.seconds = now_s - began_s_;
  tell_(progress_);
}

namespace {

// Throws kUnavailable unless size and CRC-32C of the bytes that arrived match `stat`.
void require_intact(const Stat& stat, uint64_t size, uint32_t crc, const Uri& uri) {
  if (size == stat.size && stat.crc32c.value_or(crc) == crc) return;
  throw Error(Code::kUnavailable,
              size == stat.size ? "arrived damaged: its CRC-32C differs from the stored object's"
                                : cat(size, " bytes arrived of ", stat.size),
              uri.to_string(), "start again");
}

// Reads the object that `stat` describes, in order. `options.connections` threads fetch parts ahead
// of the reader and report progress. The last part is returned only if the parts' checksums combine
// to the object's CRC-32C; otherwise read() throws kUnavailable. The destructor stops the threads
// and waits for them. `inner` and `options` must outlive the source.
class ParallelSource final : public ByteSource {
 public:
  ParallelSource(Storage& inner, const Uri& uri, const Stat& stat, const TransferOptions& options)
      : inner_(inner),
        meter_(options.on_progress, {.uri = uri.to_string(), .total = stat.size}),
        uri_(uri),
        stat_(stat),
        part_bytes_(options.part_bytes),
        parts_((stat.size + part_bytes_ - 1) / part_bytes_),
        slots_(std::min<uint64_t>(parts_, static_cast<uint64_t>(options.connections))) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      threads_.emplace_back([this](const std::stop_token& stop) { fetch_parts(stop); });
    }
  }

  ~ParallelSource() override {
    for (std::jthread& thread : threads_) thread.request_stop();
  }

  size_t read(std::span<std::byte> buffer) override {
    if (part_ == parts_) return 0;
    Slot& slot = slots_[part_ % slots_.size()];
    if (offset_ == 0) await(slot);
    const uint64_t size = size_of(part_);
    const size_t count = std::min<uint64_t>(buffer.size(), size - offset_);
    std::copy_n(slot.bytes.get() + offset_, count, buffer.begin());
    offset_ += count;
    if (offset_ == size) pass_on(slot);
    return count;
  }

 private:
  // The buffer for one part. The mutex guards its hand-over between the reader and the threads.
  struct Slot {
    std::unique_ptr<std::byte[]> bytes;
    uint32_t crc = 0;
    bool is_full = false;
  };

  uint64_t size_of(uint64_t part) const {
    return std::min(part_bytes_, stat_.size - part * part_bytes_);
  }

  // Waits until the reader's next part has arrived, and verifies the object's checksum with the
  // last.
  void await(const Slot& slot) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return slot.is_full || failure_; });
    if (!slot.is_full) std::rethrow_exception(failure_);
    crc_ = crc32c_combine(crc_, slot.crc, size_of(part_));
    if (part_ + 1 < parts_) return;
    require_intact(stat_, stat_.size, crc_, uri_);
    meter_.finish();
  }

  void pass_on(Slot& slot) {
    const std::lock_guard lock(mutex_);
    slot.is_full = false;
    ++part_;
    offset_ = 0;
    changed_.notify_all();
  }

  // The body of each thread: fetches the next part whose slot is free, until none is left.
  void fetch_parts(const std::stop_token& stop) {
    try {
      while (const std::optional<uint64_t> part = claim(stop)) {
        Slot& slot = slots_[*part % slots_.size()];
        if (!slot.bytes) slot.bytes = std::make_unique_for_overwrite<std::byte[]>(part_bytes_);
        slot.crc = fetch(*part, slot.bytes.get(), stop);
        const std::lock_guard lock(mutex_);
        slot.is_full = true;
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  std::optional<uint64_t> claim(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const bool go_on = changed_.wait(lock, stop, [this] {
      return failure_ || claimed_ == parts_ || claimed_ < part_ + slots_.size();
    });
    if (!go_on || failure_ || claimed_ == parts_) return std::nullopt;
    return claimed_++;
  }

  uint32_t fetch(uint64_t part, std::byte* bytes, const std::stop_token& stop) {
    const uint64_t size = size_of(part);
    const auto source = inner_.open(uri_, {.offset = part * part_bytes_,
                                           .length = size,
                                           .generation = stat_.generation,
                                           .stop = stop});
    uint32_t crc = 0;
    for (uint64_t filled = 0; filled < size;) {
      const size_t count = source->read({bytes + filled, size - filled});
      if (count == 0) {
        throw Error(Code::kUnavailable, "storage ends a part before its last byte",
                    uri_.to_string());
      }
      crc = crc32c({bytes + filled, count}, crc);  // while the bytes are in the CPU cache
      filled += count;
      meter_.add(count);
    }
    return crc;
  }

  Storage& inner_;
  TransferMeter meter_;
  const Uri uri_;
  const Stat stat_;
  const uint64_t part_bytes_, parts_;

  uint64_t offset_ = 0;  // of the reader within its part
  uint32_t crc_ = 0;     // of all parts up to the reader's

  std::mutex mutex_;  // guards all members below
  std::condition_variable_any changed_;
  std::vector<Slot> slots_;
  uint64_t part_ = 0;  // the part that the reader is in
  uint64_t claimed_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  // declared last: the threads use the members above
};

// The sink starts with kFastConnections connections. If that many parts in a row take longer than
// this, the network is the limit and all connections are used. If parts are faster, the machine
// itself is the limit, and more connections would only compete for its caches.
constexpr std::chrono::milliseconds kFastPart{50};
constexpr size_t kFastConnections = 3;

// Writes a large object of Google Cloud Storage in parts. Several threads each upload a part, and
// the storage then joins the parts on its side ("parallel composite upload"). There are
// `options.connections` threads, or a few if the network is so fast that more would not help.
// Memory: one part per connection.
//
// The parts are stored below "<uri>.parts/" until they are joined. At the end, all parts there are
// removed, including the parts that a killed upload of the same object left. If the storage lost
// the parts, close() throws UploadLost. `inner` retries each part by itself and must outlive the
// sink.
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

class MeteredSource final : public ByteSource {
 public:
  MeteredSource(std::unique_ptr<ByteSource> inner, const TellProgress& tell,
                const TransferProgress& about)
      : inner_(std::move(inner)), meter_(tell, about), left_(about.total) {}

  size_t read(std::span<std::byte> buffer) override {
    const size_t count = inner_->read(buffer);
    meter_.add(count);
    left_ -= std::min<uint64_t>(left_, count);
    if (count == 0 || left_ == 0) meter_.finish();
    return count;
  }

 private:
  const std::unique_ptr<ByteSource> inner_;
  TransferMeter meter_;
  uint64_t left_;  // bytes until `total`: a reader that knows the size need not read the end
};

class MeteredSink final : public ByteSink {
 public:
  MeteredSink(std::unique_ptr<ByteSink> inner, const TellProgress& tell,
              const TransferProgress& about)
      : inner_(std::move(inner)), meter_(tell, about) {}

  void write(Bytes bytes) override { pass_on(bytes, &ByteSink::write); }
  void lend(Bytes bytes) override { pass_on(bytes, &ByteSink::lend); }
  Stat close() override {
    Stat published = inner_->close();
    meter_.finish();
    return published;
  }

 private:
  void pass_on(Bytes bytes, void (ByteSink::*pass)(Bytes)) {
    while (!bytes.empty()) {
      const Bytes slice = bytes.first(std::min(bytes.size(), kSlice));
      (*inner_.*pass)(slice);
      meter_.add(slice.size());
      bytes = bytes.subspan(slice.size());
    }
  }

  static constexpr size_t kSlice = size_t{16} << 20;

  const std::unique_ptr<ByteSink> inner_;
  TransferMeter meter_;
};

// A source that owns its bytes.
class OwnedBytes final : public ByteSource {
 public:
  explicit OwnedBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)), rest_(bytes_) {}
  size_t read(std::span<std::byte> buffer) override { return rest_.read(buffer); }

 private:
  const std::vector<std::byte> bytes_;
  MemorySource rest_;
};

// Throws instead of returning 0 if size or CRC-32C do not match.
class CheckedSource final : public ByteSource {
 public:
  CheckedSource(std::unique_ptr<ByteSource> inner, Stat stat, Uri uri)
      : inner_(std::move(inner)), stat_(std::move(stat)), uri_(std::move(uri)) {}

  size_t read(std::span<std::byte> buffer) override {
    const size_t count = inner_->read(buffer);
    seen_.add(buffer.first(count));
    if (count == 0) require_intact(stat_, seen_.size, seen_.crc, uri_);
    return count;
  }

 private:
  const std::unique_ptr<ByteSource> inner_;
  const Stat stat_;
  const Uri uri_;
  Checksum seen_;
};

constexpr int kMostReads = 3;  // of a small object, if it arrives damaged

class VerifiedStorage final : public StorageLayer {
 public:
  // `joining` is `inner` where it can join parts, else null.
  VerifiedStorage(std::unique_ptr<Storage> inner, JoiningStorage* joining,
                  const TransferOptions& options)
      : StorageLayer(std::move(inner)), options_(options), joining_(joining) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    if (options.offset > 0 || options.length) return inner().open(uri, options);
    const std::optional<Stat> stat = options.known ? *options.known : inner().stat(uri);
    if (!stat)
      throw Error(Code::kNotFound, "no such object", uri.to_string(), "check the spelling");
    if (options.generation.value_or(stat->generation) != stat->generation) {
      throw Error(Code::kNotFound, "was replaced since it was looked up", uri.to_string(),
                  "start again, and leave input files alone while a job reads them");
    }
    ReadOptions pinned = options;
    pinned.known = nullptr;
    if (stat->generation != 0) pinned.generation = stat->generation;
    if (stat->content_encoding == "gzip") return open_encoded(uri, *stat, pinned);
    if (stat->size <= options_.part_bytes) return open_small(uri, *stat, pinned);
    return std::make_unique<ParallelSource>(inner(), uri, *stat, options_);
  }

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    const bool in_parts = options_.joins_parts && joining_ != nullptr &&
                          options.size_hint.value_or(0) >= 8 * options_.upload_part_bytes;
    std::unique_ptr<ByteSink> sink;
    if (in_parts) {
      sink = std::make_unique<ParallelSink>(*joining_, uri, options, options_);
    } else {
      sink = inner().create(uri, options);
    }
    return std::make_unique<MeteredSink>(
        std::move(sink), options_.on_progress,
        TransferProgress{
            .uri = uri.to_string(), .is_upload = true, .total = options.size_hint.value_or(0)});
  }

 private:
  std::unique_ptr<ByteSource> metered(std::unique_ptr<ByteSource> source, const Uri& uri,
                                      uint64_t size) const {
    return std::make_unique<MeteredSource>(std::move(source), options_.on_progress,
                                           TransferProgress{.uri = uri.to_string(), .total = size});
  }

  // Reads the whole object before it returns a byte, and reads it again if it arrives damaged.
  std::unique_ptr<ByteSource> open_small(const Uri& uri, const Stat& stat,
                                         const ReadOptions& options) const {
    std::vector<std::byte> bytes(stat.size);
    for (int attempt = 1;; ++attempt) {
      const size_t filled =
          stat.size > 0 ? read_fully(*metered(inner().open(uri, options), uri, stat.size), bytes)
                        : 0;
      try {
        require_intact(stat, filled, crc32c(Bytes(bytes).first(filled)), uri);
        return std::make_unique<OwnedBytes>(std::move(bytes));
      } catch (const Error& error) {
        if (attempt == kMostReads) throw;
        log_warning(cat(error.what(), ": reading it again"));
      }
    }
  }

  // Opens an object that is stored compressed although its name does not say so.
  std::unique_ptr<ByteSource> open_encoded(const Uri& uri, const Stat& stat,
                                           const ReadOptions& options) const {
    auto source =
        std::make_unique<PeekedSource>(metered(inner().open(uri, options), uri, stat.size), 2);
    if (!source->beginning().starts_with("\x1f\x8b")) {
      log_warning(
          cat(uri.to_string(),
              ": the server decompressed it on the way, so its checksum cannot be compared"));
      return source;
    }
    auto checked = std::make_unique<CheckedSource>(std::move(source), stat, uri);
    const std::string name = lower_ascii(uri.path());
    if (name.ends_with(".gz") || name.ends_with(".tgz")) return checked;
    return decompress(std::move(checked), Compression::kGzip);
  }

  const TransferOptions options_;
  JoiningStorage* const joining_;
};

}  // namespace

std::unique_ptr<Storage> make_verified_storage(std::unique_ptr<Storage> inner,
                                               const TransferOptions& options) {
  return std::make_unique<VerifiedStorage>(std::move(inner), nullptr, options);
}

std::unique_ptr<Storage> make_verified_storage(std::unique_ptr<JoiningStorage> inner,
                                               const TransferOptions& options) {
  JoiningStorage* const joining = inner.get();
  return std::make_unique<VerifiedStorage>(std::move(inner), joining, options);
}

}  // namespace berth
