#pragma once

#include <memory>

#include "storage/base/bytes.h"

namespace berth {

// Writes one gzip member (RFC 1952) to a sink. The sink must outlive the writer, and the writer
// does not close it. The output depends on the input alone, because the header contains no file
// name and no time. Not thread-safe.
class GzipWriter {
 public:
  explicit GzipWriter(ByteSink& sink);
  ~GzipWriter();

  void write(Bytes bytes);
  void finish();  // call once, after the last write()

 private:
  struct Stream;
  void deflate_all(int flush);

  ByteSink& sink_;
  const std::unique_ptr<Stream> stream_;
};

}  // namespace berth
