#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, RFC 3720 B.4), by the best instructions
// that the CPU has for it.
//
// The checksum of `bytes` appended to what `crc` covers; start from 0.
uint32_t crc32c(Bytes bytes, uint32_t crc = 0);

// What the register becomes by `bytes`. The checksum is its complement, before and after.
using Crc32cFunction = uint32_t (*)(Bytes bytes, uint32_t register_before);

// All that this CPU can run, best first: crc32c() is by the first. The last, by tables, runs
// everywhere.
std::vector<Crc32cFunction> supported_crc32c();

// The checksum of A B from those of A and of B, without their bytes.
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b);

// As TFRecord and TensorBundle store it, so that a checksum of checksums stays a good one.
constexpr uint32_t crc32c_mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
constexpr uint32_t crc32c_unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace berth
