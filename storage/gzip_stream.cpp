#include "storage/gzip_stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Gzip and no other wrapper. zlib writes and compares the CRC and the length of a member by itself.
constexpr int kGzipOnly = 16 + MAX_WBITS;

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> compressed) : compressed_(std::move(compressed)) {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw Error(Code::kMemory, "no memory for gzip");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  size_t read(std::span<std::byte> buffer) override {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    const auto wanted = static_cast<uInt>(std::min<size_t>(buffer.size(), UINT_MAX));
    stream_.avail_out = wanted;
    while (stream_.avail_out == wanted && prepare_member()) {
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        in_member_ = false;
      } else if (result == Z_MEM_ERROR) {
        throw Error(Code::kMemory, "no memory for gzip");
      } else if (result != Z_OK) {
        fail(stream_.msg != nullptr ? stream_.msg : "the gzip data is damaged");
      }
    }
    return wanted - stream_.avail_out;
  }

 private:
  // Makes sure that inflate is inside a member and has input. Returns false at the end of the file.
  bool prepare_member() {
    if (in_member_) {
      if (!fill()) fail("ends early, within a gzip member");
      return true;
    }
    while (fill()) {
      if (*stream_.next_in != 0 || members_ == 0) {
        if (padded_) fail("bytes after the zero padding that follows the last gzip member");
        if (*stream_.next_in != 0x1F) {
          fail(members_ == 0 ? "is not gzip" : "bytes after the last gzip member");
        }
        if (members_++ > 0) inflateReset(&stream_);
        return in_member_ = true;
      }
      padded_ = true;
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (members_ == 0) fail("is empty, so it is not a gzip file");
    return false;
  }

  bool fill() {
    if (stream_.avail_in > 0) return true;
    const size_t count = compressed_->read(input_);
    consumed_before_ += count;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::kCorrupt, what, cat("compressed byte ", consumed_before_ - stream_.avail_in),
                "fetch the file again");
  }

  std::unique_ptr<ByteSource> compressed_;
  std::array<std::byte, size_t{1} << 16> input_;
  z_stream stream_{};
  uint64_t consumed_before_ = 0;  // compressed bytes read so far, including all of input_
  uint64_t members_ = 0;
  bool in_member_ = false, padded_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<GzipSource>(std::move(compressed));
}

struct GzipWriter::Stream {
  Stream() {
    constexpr int kMemoryLevel = 8;
    if (deflateInit2(&zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipOnly, kMemoryLevel,
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
