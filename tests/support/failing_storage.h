#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/storage.h"

namespace berth {

// A storage that works until `left` objects have been published and then fails every write. This
// simulates a process that is killed at that point. Borrows `inner`.
class FailingStorage final : public StorageLayer {
 public:
  explicit FailingStorage(Storage& inner, int left = 1 << 30) : StorageLayer(inner), left_(left) {}

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    return std::make_unique<Sink>(*this, uri.file_name(), inner().create(uri, options));
  }
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    if (left_ <= 0) throw Error(Code::kUnavailable, "killed");
    inner().remove(uri, if_generation);
  }

  const std::vector<std::string>& published() const { return published_; }  // file names, in order

 private:
  class Sink final : public ByteSink {
   public:
    Sink(FailingStorage& storage, std::string name, std::unique_ptr<ByteSink> inner)
        : storage_(storage), name_(std::move(name)), inner_(std::move(inner)) {}
    void write(Bytes bytes) override { inner_->write(bytes); }
    Stat close() override {
      if (storage_.left_-- <= 0) throw Error(Code::kUnavailable, "killed");
      storage_.published_.push_back(name_);
      return inner_->close();
    }

   private:
    FailingStorage& storage_;
    std::string name_;
    std::unique_ptr<ByteSink> inner_;
  };

  int left_;
  std::vector<std::string> published_;
};

}  // namespace berth
