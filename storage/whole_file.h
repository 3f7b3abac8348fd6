#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/storage.h"

// Whole objects at once. The functions are thread-safe, and a WholeFile may be read by several
// threads. They throw what the storage throws.
namespace berth {

// Writes one object: `fill` writes its bytes to a sink, which is then closed. If the storage loses
// the upload (UploadLost), `fill` is called again with a new sink, up to three times in all. It
// must write the same bytes each time.
Stat store_object(Storage& storage, const Uri& uri, const std::function<void(ByteSink&)>& fill,
                  const WriteOptions& options = {});

// The same where `fill` can run only once: its bytes wait in a temporary file (SpillFile).
Stat store_object_once(Storage& storage, const Uri& uri,
                       const std::function<void(ByteSink&)>& fill);

// All bytes of one object. A local file is memory-mapped; any other object is read into memory.
class WholeFile {
 public:
  // Throws what Storage::open() and ByteSource::read() throw.
  WholeFile(Storage& storage, const Uri& uri);

  Bytes bytes() const { return bytes_; }  // valid as long as this object

 private:
  std::unique_ptr<RandomAccessSource> mapped_;
  std::vector<std::byte> read_;
  Bytes bytes_;
};

// Reads a small text object. Returns nullopt if it is absent. Another process may replace the
// object meanwhile. Throws kMemory above 64 MiB.
std::optional<std::string> read_text(Storage& storage, const Uri& uri);

// Creates or replaces a text object.
void write_text(Storage& storage, const Uri& uri, std::string_view text);

}  // namespace berth
