#pragma once

#include <cstdint>

#include "storage/base/bytes.h"

namespace berth {

// crc32c() on several CPUs where `bytes` are worth it: a mapped file of gigabytes.
uint32_t parallel_crc32c(Bytes bytes, uint32_t crc = 0);

}  // namespace berth
