#pragma once

#include <memory>
#include <string>

#include "storage/storage.h"

namespace berth {

// A storage that loses the first `uploads` uploads: closing their sinks throws UploadLost. Borrows
// `inner`.
class LossyStorage final : public Storage {
 public:
  LossyStorage(Storage& inner, int uploads) : inner_(inner), left_(uploads) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    return inner_.open(uri, options);
  }
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    return std::make_unique<Sink>(*this, uri.to_string(), inner_.create(uri, options));
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

  Storage& inner_;
  int left_;
};

}  // namespace berth
