#include "storage/store_object.h"

#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {

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

}  // namespace berth
