#include "storage/gzip_writer.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>

#include "storage/base/error.h"

namespace berth {
namespace {

constexpr int kGzipWrapper = 16 + MAX_WBITS, kMemoryLevel = 8;

}  // namespace

struct GzipWriter::Stream {
  Stream() {
    if (deflateInit2(&zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWrapper, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw Error(Code::kMemory, "no memory for gzip");
    }
  }
  ~Stream() { deflateEnd(&zlib); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  z_stream zlib{};
  std::array<std::byte, size_t{1} << 16> output{};
};

GzipWriter::GzipWriter(ByteSink& sink) : sink_(sink), stream_(std::make_unique<Stream>()) {}
GzipWriter::~GzipWriter() = default;

void GzipWriter::write(Bytes bytes) {
  while (!bytes.empty()) {
    const size_t count = std::min<size_t>(bytes.size(), UINT_MAX);
    // zlib only reads from next_in, although its type is not const.
    stream_->zlib.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream_->zlib.avail_in = static_cast<uInt>(count);
    deflate_all(Z_NO_FLUSH);
    bytes = bytes.subspan(count);
  }
}

void GzipWriter::finish() {
  stream_->zlib.avail_in = 0;
  deflate_all(Z_FINISH);
}

void GzipWriter::deflate_all(int flush) {
  z_stream& zlib = stream_->zlib;
  do {
    zlib.next_out = reinterpret_cast<Bytef*>(stream_->output.data());
    zlib.avail_out = static_cast<uInt>(stream_->output.size());
    deflate(&zlib, flush);  // fails only if called incorrectly
    const size_t made = stream_->output.size() - zlib.avail_out;
    if (made > 0) sink_.write(Bytes(stream_->output).first(made));
  } while (zlib.avail_out == 0);
}

}  // namespace berth
