#include "storage/base/crc32c.h"

#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#include "storage/base/crc_table.h"

namespace berth {
namespace {

constexpr uint32_t kCrc32cPolynomial = 0x82F63B78;

using Crc32cTable = CrcTable<kCrc32cPolynomial>;

[[maybe_unused]] uint64_t load_u64(const std::byte* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// a times b modulo the polynomial; in this bit order 1 << 31 is one and 1 << 30 is x.
constexpr uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = uint32_t{1} << 31; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b >> 1) ^ ((b & 1) ? kCrc32cPolynomial : 0);
  }
  return product;
}

// What `size` more bytes multiply a register by: x^(8 size).
constexpr uint32_t shift_by(uint64_t size) {
  uint32_t shift = uint32_t{1} << 31;
  uint32_t power = uint32_t{1} << 23;  // x^8, then its squares
  for (; size != 0; size >>= 1) {
    if (size & 1) shift = multiply(shift, power);
    power = multiply(power, power);
  }
  return shift;
}

#if defined(__x86_64__)

// The instruction takes one word a cycle but answers after three, so three lanes go side by side.
constexpr size_t kLane = size_t{8} << 10;
constexpr uint32_t kLaneShift = shift_by(kLane);

__attribute__((target("sse4.2"))) uint32_t advance_by_instruction(Bytes bytes, uint32_t crc) {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  uint64_t wide = crc;
  for (; left >= 3 * kLane; at += 3 * kLane, left -= 3 * kLane) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kLane; i += 8) {
      wide = _mm_crc32_u64(wide, load_u64(at + i));
      second = _mm_crc32_u64(second, load_u64(at + kLane + i));
      third = _mm_crc32_u64(third, load_u64(at + 2 * kLane + i));
    }
    second ^= multiply(kLaneShift, static_cast<uint32_t>(wide));
    wide = third ^ multiply(kLaneShift, static_cast<uint32_t>(second));
  }
  for (; left >= 8; at += 8, left -= 8) wide = _mm_crc32_u64(wide, load_u64(at));
  crc = static_cast<uint32_t>(wide);
  for (; left > 0; ++at, --left) crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*at));
  return crc;
}

uint32_t advance_crc32c(Bytes bytes, uint32_t crc) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  return has_instruction ? advance_by_instruction(bytes, crc) : Crc32cTable::advance(bytes, crc);
}

#elif defined(__ARM_FEATURE_CRC32)

uint32_t advance_crc32c(Bytes bytes, uint32_t crc) {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) crc = __crc32cd(crc, load_u64(at));
  for (; left > 0; ++at, --left) crc = __crc32cb(crc, static_cast<uint8_t>(*at));
  return crc;
}

#else

uint32_t advance_crc32c(Bytes bytes, uint32_t crc) { return Crc32cTable::advance(bytes, crc); }

#endif

}  // namespace

uint32_t crc32c(Bytes bytes, uint32_t crc) { return ~advance_crc32c(bytes, ~crc); }

uint32_t crc32c_portable(Bytes bytes, uint32_t crc) { return ~Crc32cTable::advance(bytes, ~crc); }

uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b) {
  return multiply(shift_by(size_b), crc_a) ^ crc_b;
}

}  // namespace berth
