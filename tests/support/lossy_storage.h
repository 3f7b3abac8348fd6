#pragma once

#include <memory>
#include <string>

#include "storage/storage.h"

namespace berth {

// A storage that loses the first `uploads` uploads: closing their sinks throws UploadLost. Borrows
// `inner`.
class LossyStorage final : public StorageLayer {
 public:
  LossyStorage(Storage& inner, int uploads) : StorageLayer(inner), left_(uploads) {}

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    return std::make_unique<Sink>(*this, uri.to_string(), inner().create(uri, options));
  }

 private:
  class Sink final : public ByteSink {
   public:
    Sink(LossyStorage& storage, std::string name, std::unique_ptr<ByteSink> inner)
        : storage_(storage), name_(std::move(name)), inner_(std::move(inner)) {}
    void write(Bytes bytes) override { inner_->write(bytes); }
    Stat close() override {
      if (storage_.left_-- > 0) throw UploadLost(name_);
      return inner_->close();
    }

   private:
    LossyStorage& storage_;
    std::string name_;
    std::unique_ptr<ByteSink> inner_;
  };

  int left_;
};

}  // namespace berth
