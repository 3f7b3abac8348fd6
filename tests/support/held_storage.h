#pragma once

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/storage.h"

namespace berth {

// `inner`, whose objects below a directory of some name are published only once they may be.
class HeldStorage final : public Storage {
 public:
  HeldStorage(Storage& inner, std::string directory)
      : inner_(inner), directory_(std::move(directory)) {}

  void release() { may_.set_value(); }

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    return inner_.open(uri, options);
  }
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    auto sink = inner_.create(uri, options);
    if (uri.path().find(directory_) == std::string::npos) return sink;
    return std::make_unique<Sink>(std::move(sink), released_);
  }
  std::optional<Stat> stat(const Uri& uri) override { return inner_.stat(uri); }
  std::vector<Stat> list(const Uri& prefix, size_t enough) override {
    return inner_.list(prefix, enough);
  }
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    inner_.remove(uri, if_generation);
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

  Storage& inner_;
  const std::string directory_;
  std::promise<void> may_;
  const std::shared_future<void> released_ = may_.get_future().share();
};

}  // namespace berth
