#pragma once

#include <cstdint>

#include "storage/base/bytes.h"

namespace berth {

// Like crc32c(), but uses several threads if `bytes` are large enough to gain from it (16 MiB or
// more).
uint32_t parallel_crc32c(Bytes bytes, uint32_t crc = 0);

}  // namespace berth
