#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, RFC 3720 B.4), computed with the fastest
// instructions that the CPU has for it.
//
// Returns the checksum of the bytes that `crc` covers followed by `bytes`; start with 0.
uint32_t crc32c(Bytes bytes, uint32_t crc = 0);

// Advances the CRC register over `bytes`. The register is the complement of the checksum.
using Crc32cFunction = uint32_t (*)(Bytes bytes, uint32_t register_before);

// The implementations that this CPU can run, fastest first; crc32c() uses the first. The last one
// uses lookup tables and runs everywhere.
std::vector<Crc32cFunction> supported_crc32c();

// Returns the checksum of A followed by B from the checksums of A and of B and the size of B.
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b);

// The masked form in which TFRecord and TensorBundle store a CRC. A file that contains its own CRCs
// is then checksummed as reliably as any other.
constexpr uint32_t crc32c_mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
constexpr uint32_t crc32c_unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace berth
