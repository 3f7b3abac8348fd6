#pragma once

#include <memory>

#include "storage/base/bytes.h"

namespace berth {

// Decompresses a gzip file (RFC 1952). Several members are joined. Zero bytes after the last member
// are ignored, because tapes are padded with them; any other byte there throws kCorrupt. The CRC-32
// and the length of each member are compared before read() returns 0. Errors name the offset in the
// compressed file.
std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> compressed);

}  // namespace berth
