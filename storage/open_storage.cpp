#include "storage/open_storage.h"

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/local_storage.h"

namespace berth {
namespace {

class StorageByScheme final : public Storage {
 public:
  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    return of(uri).open(uri, options);
  }
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    return of(uri).create(uri, options);
  }
  std::optional<Stat> stat(const Uri& uri) override { return of(uri).stat(uri); }
  std::vector<Stat> list(const Uri& prefix) override { return of(prefix).list(prefix); }
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    of(uri).remove(uri, if_generation);
  }

 private:
  Storage& of(const Uri& uri) {
    if (uri.is_local()) return *local_;
    throw Error(Code::kUsage, cat("this build reads local paths only, not ", uri.scheme(), "://"),
                uri.to_string(), "copy it here first, or mount it and name the mounted path");
  }

  const std::unique_ptr<Storage> local_ = make_local_storage();
};

}  // namespace

std::unique_ptr<Storage> open_storage() { return std::make_unique<StorageByScheme>(); }

}  // namespace berth
