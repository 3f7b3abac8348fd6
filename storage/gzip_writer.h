#pragma once

#include <memory>

#include "storage/base/bytes.h"

namespace berth {

// One gzip member (RFC 1952) into a sink, which outlives this and stays open. The same bytes give
// the same file: no name, no time. Not thread-safe.
class GzipWriter {
 public:
  explicit GzipWriter(ByteSink& sink);
  ~GzipWriter();

  void write(Bytes bytes);
  void finish();  // at most once, after the last write

 private:
  struct Stream;
  void deflate_all(int flush);

  ByteSink& sink_;
  const std::unique_ptr<Stream> stream_;
};

}  // namespace berth
