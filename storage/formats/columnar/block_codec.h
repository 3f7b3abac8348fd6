#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/bytes.h"

// The compression of blocks in columnar files. Thread-safe.
namespace berth::columnar {

// How a block of bytes is compressed. The numbers are Parquet's. Parquet has all codecs but the
// last.
enum class Codec : uint8_t {
  kUncompressed = 0,
  kSnappy = 1,
  kGzip = 2,
  kLzo = 3,
  kBrotli = 4,
  kLz4Hadoop = 5,
  kZstd = 6,
  kLz4Raw = 7,
  kLz4Frame,  // of Arrow
};

// Decompresses `bytes`, whose codec is not kUncompressed, into `out`, which it resizes to `size`.
// Throws kCorrupt if they are damaged or hold another number of bytes. Throws kBadData for a codec
// that berth does not have (Brotli, LZO), and kMemory if `size` is above 1 GiB.
void decompress(Codec codec, Bytes bytes, uint64_t size, std::vector<std::byte>& out);

}  // namespace berth::columnar
