#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/parquet/parquet_metadata.h"

namespace berth::parquet {

// Decompresses `bytes`, whose codec is not kUncompressed, into `out`, which it resizes to `size`.
// Throws kCorrupt where they are damaged or hold another number of bytes, kBadData for a codec that
// berth does not have (Brotli, LZO), and kMemory where `size` is above 1 GiB.
void decompress(Codec codec, Bytes bytes, uint64_t size, std::vector<std::byte>& out);

}  // namespace berth::parquet
