#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include "storage/base/error.h"
#include "storage/volume.h"
#include "tests/support/borrowed_storage.h"

namespace berth {

// A disk of `size` bytes below a local directory: what does not fit beside the files that are there
// throws kNoSpace, at once where its size is known before, and when it is written where not.
class FullStorage final : public BorrowedStorage {
 public:
  FullStorage(Storage& inner, std::filesystem::path directory, uint64_t size)
      : BorrowedStorage(inner), directory_(std::move(directory)), size_(size) {}

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    require(options.size_hint.value_or(0));
    return std::make_unique<Sink>(*this, BorrowedStorage::create(uri, options));
  }

  uint64_t used_bytes() const {
    uint64_t used = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      const bool is_written = entry.path().extension() != ".part";
      if (entry.is_regular_file() && is_written) used += entry.file_size();
    }
    return used;
  }

  // What a file system would tell. With `is_certain` false, it may not be trusted.
  std::optional<Volume> volume(bool is_certain) const {
    const uint64_t used = used_bytes();
    return Volume{.id = 1,
                  .size_bytes = size_,
                  .free_bytes = size_ - std::min(size_, used),
                  .is_certain = is_certain};
  }

 private:
  void require(uint64_t bytes) const {
    if (used_bytes() + bytes > size_) throw Error(Code::kNoSpace, "the disk is full", "disk");
  }

  class Sink final : public ByteSink {
   public:
    Sink(FullStorage& storage, std::unique_ptr<ByteSink> inner)
        : storage_(storage), inner_(std::move(inner)) {}
    void write(Bytes bytes) override {
      written_ += bytes.size();
      storage_.require(written_);
      inner_->write(bytes);
    }
    Stat close() override { return inner_->close(); }

   private:
    FullStorage& storage_;
    std::unique_ptr<ByteSink> inner_;
    uint64_t written_ = 0;
  };

  const std::filesystem::path directory_;
  const uint64_t size_;
};

}  // namespace berth
