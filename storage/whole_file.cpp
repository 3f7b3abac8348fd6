#include "storage/whole_file.h"

#include <limits>

#include "storage/base/error.h"
#include "storage/local_storage.h"

namespace berth {

WholeFile::WholeFile(Storage& storage, const Uri& uri) {
  if (uri.is_local()) {
    mapped_ = map_file(uri.path());
    bytes_ = *mapped_->view();
  } else {
    read_ = read_all(*storage.open(uri), std::numeric_limits<uint64_t>::max(), uri.to_string());
    bytes_ = read_;
  }
}

std::optional<std::string> read_text(Storage& storage, const Uri& uri) {
  constexpr uint64_t kLimitBytes = uint64_t{64} << 20;
  try {
    const std::vector<std::byte> bytes = read_all(*storage.open(uri), kLimitBytes, uri.to_string());
    return std::string(as_text(bytes));
  } catch (const Error& error) {
    if (error.code() == Code::kNotFound) return std::nullopt;
    throw;
  }
}

void write_text(Storage& storage, const Uri& uri, std::string_view text) {
  const std::unique_ptr<ByteSink> sink = storage.create(uri);
  sink->write(as_bytes(text));
  sink->close();
}

}  // namespace berth
