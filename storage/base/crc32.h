#pragma once

#include <cstdint>

#include "storage/base/bytes.h"

namespace berth {

// CRC-32 of zip and gzip (reflected polynomial 0xEDB88320, APPNOTE 4.4.7), by carry-less
// multiplication where the CPU has it: fast enough (12 GB/s) to verify gigabytes that are loaded.
//
// The checksum of `bytes` appended to what `crc` covers; start from 0.
uint32_t crc32(Bytes bytes, uint32_t crc = 0);

// The same by tables only: what crc32() is where the CPU lacks the instruction.
uint32_t crc32_portable(Bytes bytes, uint32_t crc = 0);

}  // namespace berth
