#pragma once

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/borrowed_storage.h"

namespace berth {

// Holds back the objects whose paths contain `directory`: closing their sinks waits until release()
// is called. Everything else passes through to `inner`, which is borrowed.
class HeldStorage final : public BorrowedStorage {
 public:
  HeldStorage(Storage& inner, std::string directory)
      : BorrowedStorage(inner), directory_(std::move(directory)) {}

  void release() { may_.set_value(); }

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    auto sink = BorrowedStorage::create(uri, options);
    if (uri.path().find(directory_) == std::string::npos) return sink;
    return std::make_unique<Sink>(std::move(sink), released_);
  }

 private:
  class Sink final : public ByteSink {
   public:
    Sink(std::unique_ptr<ByteSink> inner, std::shared_future<void> released)
        : inner_(std::move(inner)), released_(std::move(released)) {}
    void write(Bytes bytes) override { inner_->write(bytes); }
    Stat close() override {
      released_.wait();
      return inner_->close();
    }

   private:
    std::unique_ptr<ByteSink> inner_;
    std::shared_future<void> released_;
  };

  const std::string directory_;
  std::promise<void> may_;
  const std::shared_future<void> released_ = may_.get_future().share();
};

}  // namespace berth
