#include "storage/whole_file.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/spill_file.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kPart = size_t{1} << 20;

// Appends to a temporary file, in large parts.
class SpillSink final : public ByteSink {
 public:
  explicit SpillSink(SpillFile& file) : file_(file) {}

  void write(Bytes bytes) override {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    if (pending_.size() >= kPart) flush();
  }
  Stat close() override {
    flush();
    return {};  // there is no object yet
  }

 private:
  void flush() {
    file_.append(pending_);
    pending_.clear();
  }

  SpillFile& file_;
  std::vector<std::byte> pending_;
};

void copy(const SpillFile& file, ByteSink& sink) {
  std::vector<std::byte> buffer(kPart);
  for (uint64_t offset = 0; offset < file.size();) {
    const auto part = std::span(buffer).first(
        static_cast<size_t>(std::min<uint64_t>(buffer.size(), file.size() - offset)));
    file.read_at(offset, part);
    sink.write(part);
    offset += part.size();
  }
}

// Takes no more memory than `expected` bytes if that is the size.
std::vector<std::byte> read_whole(ByteSource& source, uint64_t expected, const std::string& what) {
  std::vector<std::byte> bytes(static_cast<size_t>(expected));
  bytes.resize(read_fully(source, bytes));
  if (bytes.size() < expected) return bytes;
  const std::vector<std::byte> more = read_all(source, std::numeric_limits<uint64_t>::max(), what);
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

}  // namespace

Stat store_object(Storage& storage, const Uri& uri, const std::function<void(ByteSink&)>& fill,
                  const WriteOptions& options) {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    try {
      const std::unique_ptr<ByteSink> sink = storage.create(uri, options);
      fill(*sink);
      return sink->close();
    } catch (const UploadLost& lost) {
      if (attempt == kAttempts) throw;
      log_debug(cat("attempt ", attempt, " of ", kAttempts, " failed: ", lost.what()));
    }
  }
}

Stat store_object_once(Storage& storage, const Uri& uri,
                       const std::function<void(ByteSink&)>& fill) {
  SpillFile file;
  SpillSink spilled(file);
  fill(spilled);
  spilled.close();
  return store_object(storage, uri, [&](ByteSink& sink) { copy(file, sink); });
}

WholeFile::WholeFile(Storage& storage, const Uri& uri) {
  const std::optional<Stat> stat = uri.is_local() ? std::nullopt : storage.stat(uri);
  const std::unique_ptr<ByteSource> source = storage.open(uri, {.known = stat ? &*stat : nullptr});
  mapped_ = source->map();
  if (mapped_) {
    bytes_ = *mapped_->view();
  } else {
    read_ = read_whole(*source, stat ? stat->size : 0, uri.to_string());
    bytes_ = read_;
  }
}

std::optional<std::string> read_text(Storage& storage, const Uri& uri) {
  constexpr uint64_t kLimitBytes = uint64_t{64} << 20;
  constexpr int kAttempts = 10;  // an object that is replaced meanwhile is not absent
  for (int attempt = 1;; ++attempt) {
    try {
      const std::vector<std::byte> bytes =
          read_all(*storage.open(uri), kLimitBytes, uri.to_string());
      return std::string(as_text(bytes));
    } catch (const Error& error) {
      if (error.code() != Code::kNotFound) throw;
      if (!storage.stat(uri)) return std::nullopt;
      if (attempt == kAttempts) throw;
    }
  }
}

void write_text(Storage& storage, const Uri& uri, std::string_view text) {
  store_object(storage, uri, [text](ByteSink& sink) { sink.write(as_bytes(text)); });
}

}  // namespace berth
