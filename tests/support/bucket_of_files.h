#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/storage.h"

namespace berth {

// A bucket whose objects are files below `directory`: gs://BUCKET/a is DIRECTORY/BUCKET/a. Counts
// the calls and the bytes read. Borrows `files`.
class BucketOfFiles final : public Storage {
 public:
  BucketOfFiles(Storage& files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    ++opens;
    return std::make_unique<Source>(files_.open(file_of(uri), options), read_bytes);
  }
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    ++creates;
    return files_.create(file_of(uri), options);
  }
  std::optional<Stat> stat(const Uri& uri) override {
    ++stats;
    std::optional<Stat> stat = files_.stat(file_of(uri));
    if (stat) stat = object_of(*stat);
    return stat;
  }
  std::vector<Stat> list(const Uri& prefix, size_t enough) override {
    ++lists;
    std::vector<Stat> objects;
    for (const Stat& stat : files_.list(file_of(prefix), enough))
      objects.push_back(object_of(stat));
    return objects;
  }
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    files_.remove(file_of(uri), if_generation);
  }

  // Lets a test add to an object's Stat what a file does not have.
  std::function<void(Stat&)> describe;
  std::atomic<int> opens = 0, creates = 0, stats = 0, lists = 0;
  std::atomic<uint64_t> read_bytes = 0;

 private:
  // Hides that the file could be mapped, as remote bytes cannot be.
  class Source final : public ByteSource {
   public:
    Source(std::unique_ptr<ByteSource> inner, std::atomic<uint64_t>& read_bytes)
        : inner_(std::move(inner)), read_bytes_(read_bytes) {}
    size_t read(std::span<std::byte> buffer) override {
      const size_t count = inner_->read(buffer);
      read_bytes_ += count;
      return count;
    }

   private:
    std::unique_ptr<ByteSource> inner_;
    std::atomic<uint64_t>& read_bytes_;
  };

  Uri file_of(const Uri& uri) const {
    return Uri::parse(directory_ + "/" + uri.host() + (uri.path().empty() ? "" : "/" + uri.path()));
  }
  Stat object_of(Stat stat) const {
    stat.name = "gs://" + stat.name.substr(directory_.size() + 1);
    if (describe) describe(stat);
    return stat;
  }

  Storage& files_;
  const std::string directory_;
};

}  // namespace berth
