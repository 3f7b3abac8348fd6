#pragma once

#include <memory>

#include "storage/base/bytes.h"

namespace berth {

// Decompresses a gzip file (RFC 1952). Several members are joined. Zero bytes after the last member
// are ignored, because tapes are padded with them; any other byte there throws kCorrupt. The CRC-32
// and the length of each member are compared before read() returns 0. Errors name the offset in the
// compressed file.
std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> compressed);

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
