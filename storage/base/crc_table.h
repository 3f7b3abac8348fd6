#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "storage/base/bytes.h"

namespace berth {

// A reflected 32-bit CRC from lookup tables, eight bytes per step ("slicing by 8", Kounavis and
// Berry 2005). It serves CPUs without a CRC instruction, and the last bytes of a buffer that are
// too few for one.
template <uint32_t kPolynomial>
class CrcTable {
 public:
  // Advances the CRC register `crc` over `bytes`. The register is the complement of the checksum.
  static uint32_t advance(Bytes bytes, uint32_t crc) {
    const std::byte* at = bytes.data();
    size_t left = bytes.size();
    for (; left >= 8; at += 8, left -= 8) {
      uint64_t word;
      std::memcpy(&word, at, sizeof word);
      word ^= crc;
      crc = 0;
      for (size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][(word >> (8 * i)) & 0xFF];
    }
    for (; left > 0; ++at, --left) {
      crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint32_t>(*at)) & 0xFF];
    }
    return crc;
  }

 private:
  // kTables[0] advances the register by one byte; kTables[k] advances it by k zero bytes more.
  using Tables = std::array<std::array<uint32_t, 256>, 8>;

  static constexpr Tables make_tables() {
    Tables tables{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
      tables[0][byte] = crc;
    }
    for (size_t k = 1; k < 8; ++k) {
      for (size_t byte = 0; byte < 256; ++byte) {
        const uint32_t previous = tables[k - 1][byte];
        tables[k][byte] = (previous >> 8) ^ tables[0][previous & 0xFF];
      }
    }
    return tables;
  }

  static constexpr Tables kTables = make_tables();
};

}  // namespace berth
