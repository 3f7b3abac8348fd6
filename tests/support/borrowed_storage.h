#pragma once

#include <memory>
#include <vector>

#include "storage/storage.h"

namespace berth {

// Passes every call on to `inner`, which the test owns. For code that takes ownership of a storage.
class BorrowedStorage : public Storage {
 public:
  explicit BorrowedStorage(Storage& inner) : inner_(inner) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    return inner_.open(uri, options);
  }
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    return inner_.create(uri, options);
  }
  std::optional<Stat> stat(const Uri& uri) override { return inner_.stat(uri); }
  std::vector<Stat> list(const Uri& prefix, size_t enough) override {
    return inner_.list(prefix, enough);
  }
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    inner_.remove(uri, if_generation);
  }

 private:
  Storage& inner_;
};

}  // namespace berth
