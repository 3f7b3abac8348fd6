#include "storage/whole_file.h"

#include <limits>

#include "storage/base/error.h"
#include "storage/store_object.h"

namespace berth {

WholeFile::WholeFile(Storage& storage, const Uri& uri) {
  const std::unique_ptr<ByteSource> source = storage.open(uri);
  mapped_ = source->map();
  if (mapped_) {
    bytes_ = *mapped_->view();
  } else {
    read_ = read_all(*source, std::numeric_limits<uint64_t>::max(), uri.to_string());
    bytes_ = read_;
  }
}

std::optional<std::string> read_text(Storage& storage, const Uri& uri) {
  constexpr uint64_t kLimitBytes = uint64_t{64} << 20;
  constexpr int kAttempts = 10;  // an object that is replaced meanwhile is not absent
  for (int attempt = 1;; ++attempt) {
    try {
      const std::vector<std::byte> bytes =
          read_all(*storage.open(uri), kLimitBytes, uri.to_string());
      return std::string(as_text(bytes));
    } catch (const Error& error) {
      if (error.code() != Code::kNotFound) throw;
      if (!storage.stat(uri)) return std::nullopt;
      if (attempt == kAttempts) throw;
    }
  }
}

void write_text(Storage& storage, const Uri& uri, std::string_view text) {
  store_object(storage, uri, [text](ByteSink& sink) { sink.write(as_bytes(text)); });
}

}  // namespace berth
