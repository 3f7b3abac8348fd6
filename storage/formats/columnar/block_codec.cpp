#include "storage/formats/columnar/block_codec.h"

#include <lz4.h>
#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/snappy.h"

namespace berth::columnar {
namespace {

constexpr uint64_t kLargestBlock = uint64_t{1} << 30;

[[noreturn]] void fail_codec(const char* codec, const std::string& what) {
  throw Error(Code::kCorrupt, cat("a block that is compressed by ", codec, " ", what), "",
              kFetchAgain);
}

[[noreturn]] void fail_unknown(const char* codec) {
  throw Error(Code::kBadData, cat("is compressed by ", codec, ", which berth does not read"), "",
              "write it with snappy, zstd, gzip or lz4");
}

// The most bytes that a compressed byte can stand for. A header that claims more is damaged, and no
// memory is taken for it. A frame of zstd contains its own size.
uint64_t largest_growth(Codec codec) {
  switch (codec) {
    case Codec::kGzip:
      return 1'032;
    case Codec::kSnappy:
      return 22;
    case Codec::kLz4Raw:
    case Codec::kLz4Hadoop:
    case Codec::kLz4Frame:
      return 255;
    case Codec::kZstd:
      return 32'768;
    default:
      return 1;
  }
}

void gunzip(Bytes bytes, std::vector<std::byte>& out) {
  z_stream stream{};
  constexpr int kGzipOrZlib = 15 + 32;
  if (inflateInit2(&stream, kGzipOrZlib) != Z_OK) throw std::bad_alloc();
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool is_full = stream.avail_out == 0;
  inflateEnd(&stream);
  if (result != Z_STREAM_END || !is_full) fail_codec("gzip", "is damaged");
}

void require_zstd_size(Bytes bytes, uint64_t size) {
  const unsigned long long recorded = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (recorded == ZSTD_CONTENTSIZE_UNKNOWN || recorded == size) return;
  fail_codec("zstd", "has another size than its header says");
}

void decompress_zstd(Bytes bytes, std::vector<std::byte>& out) {
  const size_t size = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) fail_codec("zstd", cat("is damaged: ", ZSTD_getErrorName(size)));
  if (size != out.size()) fail_codec("zstd", "has another size than its header says");
}

bool is_lz4(Bytes bytes, std::span<std::byte> out) {
  return LZ4_decompress_safe(reinterpret_cast<const char*>(bytes.data()),
                             reinterpret_cast<char*>(out.data()), static_cast<int>(bytes.size()),
                             static_cast<int>(out.size())) == static_cast<int>(out.size());
}

void decompress_lz4_frame(Bytes bytes, std::vector<std::byte>& out) {
  LZ4F_dctx* made = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) != 0) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)> context(
      made, &LZ4F_freeDecompressionContext);
  size_t written = 0, left = 1;  // left: 0 after the end of the frame
  while (left != 0) {
    size_t size = out.size() - written, used = bytes.size();
    left =
        LZ4F_decompress(context.get(), out.data() + written, &size, bytes.data(), &used, nullptr);
    if (LZ4F_isError(left) != 0) fail_codec("lz4", cat("is damaged: ", LZ4F_getErrorName(left)));
    if (left != 0 && size == 0 && used == 0) fail_codec("lz4", "does not end where it should");
    written += size;
    bytes = bytes.subspan(used);
  }
  if (written != out.size()) fail_codec("lz4", "has another size than its header says");
}

uint32_t big_endian(Cursor& cursor) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | cursor.u8();
  return value;
}

// Hadoop's frames: u32 size, u32 compressed size, both big-endian, and an LZ4 block.
bool is_hadoop_lz4(Bytes bytes, std::span<std::byte> out) {
  Cursor cursor(bytes);
  while (!out.empty()) {
    if (cursor.remaining() < 8) return false;
    const uint32_t size = big_endian(cursor), compressed = big_endian(cursor);
    if (size == 0 || size > out.size() || compressed > cursor.remaining()) return false;
    if (!is_lz4(cursor.take(compressed), out.first(size))) return false;
    out = out.subspan(size);
  }
  return cursor.at_end();
}

}  // namespace

void decompress(Codec codec, Bytes bytes, uint64_t size, std::vector<std::byte>& out) {
  if (codec == Codec::kLzo) fail_unknown("LZO");
  if (codec == Codec::kBrotli) fail_unknown("Brotli");
  if (size > bytes.size() * largest_growth(codec)) {
    throw Error(Code::kCorrupt, cat("a block of ", bytes.size(), " bytes claims to hold ", size),
                "", kFetchAgain);
  }
  if (size > kLargestBlock || bytes.size() > kLargestBlock) {
    throw Error(Code::kMemory,
                cat("has a block of ", std::max<uint64_t>(size, bytes.size()), " bytes"), "",
                "write it with smaller row groups, pages or record batches");
  }
  if (size == 0) return out.clear();  // a dictionary of nothing
  if (codec == Codec::kSnappy) {
    snappy_decode(bytes, out);
    if (out.size() != size) fail_codec("snappy", "has another size than its header says");
    return;
  }
  if (codec == Codec::kZstd) require_zstd_size(bytes, size);
  out.resize(size);
  if (codec == Codec::kGzip) return gunzip(bytes, out);
  if (codec == Codec::kZstd) return decompress_zstd(bytes, out);
  if (codec == Codec::kLz4Frame) return decompress_lz4_frame(bytes, out);
  // Some writers left Hadoop's frames out.
  const bool may_have_frames = codec == Codec::kLz4Hadoop;
  if (may_have_frames && is_hadoop_lz4(bytes, out)) return;
  if (!is_lz4(bytes, out)) fail_codec("lz4", "is damaged");
}

}  // namespace berth::columnar
