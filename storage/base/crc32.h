#pragma once

#include <cstdint>

#include "storage/base/bytes.h"

namespace berth {

// CRC-32 as zip and gzip use it (reflected polynomial 0xEDB88320, APPNOTE 4.4.7). It uses
// carry-less multiplication if the CPU has it, which reaches 12 GB/s, fast enough to verify
// checkpoints of gigabytes while they are loaded.
//
// Returns the checksum of the bytes that `crc` covers followed by `bytes`; start with 0.
uint32_t crc32(Bytes bytes, uint32_t crc = 0);

// The same checksum from lookup tables alone. crc32() falls back to it on other CPUs.
uint32_t crc32_portable(Bytes bytes, uint32_t crc = 0);

}  // namespace berth
