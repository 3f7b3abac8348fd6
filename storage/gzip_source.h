#pragma once

#include <memory>

#include "storage/base/bytes.h"

namespace berth {

// The decompressed bytes of a gzip file (RFC 1952): members are joined, zero bytes after the last
// are ignored (tape padding), anything else there is kCorrupt. Each member's CRC-32 and length are
// compared, at the latest by the read that would return 0. Errors name the compressed byte.
std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> compressed);

}  // namespace berth
