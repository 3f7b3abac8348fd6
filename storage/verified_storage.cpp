#include "storage/verified_storage.h"

#include <algorithm>
#include <array>

#include "storage/archive.h"
#include "storage/base/checksum.h"
#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/parallel_sink.h"
#include "storage/parallel_source.h"

namespace berth {
namespace {

constexpr int kMostReads = 3;  // of a small object, if it arrives damaged

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

// A source whose first two bytes can be inspected before it is read.
class PeekedSource final : public ByteSource {
 public:
  explicit PeekedSource(std::unique_ptr<ByteSource> rest) : rest_(std::move(rest)) {
    while (size_ < head_.size()) {
      const size_t count = rest_->read(std::span(head_).subspan(size_));
      if (count == 0) break;
      size_ += count;
    }
  }

  bool is_gzip() const {
    return size_ == 2 && head_[0] == std::byte{0x1f} && head_[1] == std::byte{0x8b};
  }

  size_t read(std::span<std::byte> buffer) override {
    if (given_ == size_) return rest_->read(buffer);
    const size_t count = std::min(buffer.size(), size_ - given_);
    std::copy_n(head_.begin() + static_cast<ptrdiff_t>(given_), count, buffer.begin());
    given_ += count;
    return count;
  }

 private:
  const std::unique_ptr<ByteSource> rest_;
  std::array<std::byte, 2> head_{};
  size_t size_ = 0, given_ = 0;
};

class VerifiedStorage final : public Storage {
 public:
  // `joining` is `inner` where it can join parts, else null.
  VerifiedStorage(std::unique_ptr<Storage> inner, JoiningStorage* joining,
                  const TransferOptions& options)
      : options_(options), inner_(std::move(inner)), joining_(joining) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    if (options.offset > 0 || options.length) return inner_->open(uri, options);
    const std::optional<Stat> stat = options.known ? *options.known : inner_->stat(uri);
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
    return make_parallel_source(*inner_, uri, *stat, options_);
  }

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    const bool in_parts = options_.joins_parts && joining_ != nullptr &&
                          options.size_hint.value_or(0) >= 8 * options_.upload_part_bytes;
    return std::make_unique<MeteredSink>(
        in_parts ? make_parallel_sink(*joining_, uri, options, options_)
                 : inner_->create(uri, options),
        options_.on_progress,
        TransferProgress{
            .uri = uri.to_string(), .is_upload = true, .total = options.size_hint.value_or(0)});
  }

  std::optional<Stat> stat(const Uri& uri) override { return inner_->stat(uri); }
  std::vector<Stat> list(const Uri& prefix, size_t enough) override {
    return inner_->list(prefix, enough);
  }
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    inner_->remove(uri, if_generation);
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
      const size_t filled = stat.size > 0 ? fill(bytes, uri, options) : 0;
      try {
        require_intact(stat, filled, crc32c(Bytes(bytes).first(filled)), uri);
        return std::make_unique<OwnedBytes>(std::move(bytes));
      } catch (const Error& error) {
        if (attempt == kMostReads) throw;
        log_warning(cat(error.what(), ": reading it again"));
      }
    }
  }

  size_t fill(std::span<std::byte> bytes, const Uri& uri, const ReadOptions& options) const {
    const auto source = metered(inner_->open(uri, options), uri, bytes.size());
    size_t filled = 0;
    while (filled < bytes.size()) {
      const size_t count = source->read(bytes.subspan(filled));
      if (count == 0) break;
      filled += count;
    }
    return filled;
  }

  // Opens an object that is stored compressed although its name does not say so.
  std::unique_ptr<ByteSource> open_encoded(const Uri& uri, const Stat& stat,
                                           const ReadOptions& options) const {
    auto source =
        std::make_unique<PeekedSource>(metered(inner_->open(uri, options), uri, stat.size));
    if (!source->is_gzip()) {
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
  const std::unique_ptr<Storage> inner_;
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
