#include "storage/base/crc32.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "storage/base/crc_polynomial.h"
#include "storage/base/crc_table.h"

namespace berth {
namespace {

constexpr uint32_t kCrc32Polynomial = 0xEDB88320;

using Crc32Table = CrcTable<kCrc32Polynomial>;

#if defined(__x86_64__)

// x^n modulo the polynomial, bit-reflected in 33 bits, which is the form that the multiplication
// takes.
constexpr uint64_t power_of_x(unsigned n) {
  return uint64_t{CrcPolynomial<kCrc32Polynomial>::x_to(n)} << 1;
}

// Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ" (Intel, 2009). Four
// 16-byte registers each advance by 64 bytes per step by being multiplied with x^512. At the end
// they are folded into one register with x^128. The CRC of that register equals the CRC of
// everything read.
__attribute__((target("pclmul,sse4.1"))) __m128i fold(__m128i value, __m128i next,
                                                      __m128i factors) {
  const __m128i low = _mm_clmulepi64_si128(value, factors, 0x00);
  const __m128i high = _mm_clmulepi64_si128(value, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

constexpr size_t kStep = 64;

__attribute__((target("pclmul,sse4.1"))) uint32_t advance_by_folding(Bytes bytes, uint32_t crc) {
  if (bytes.size() < 2 * kStep) return Crc32Table::advance(bytes, crc);
  const auto load = [&bytes](size_t offset) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data() + offset));
  };
  const __m128i by_512 = _mm_set_epi64x(static_cast<int64_t>(power_of_x(512 - 32)),
                                        static_cast<int64_t>(power_of_x(512 + 32)));
  const __m128i by_128 = _mm_set_epi64x(static_cast<int64_t>(power_of_x(128 - 32)),
                                        static_cast<int64_t>(power_of_x(128 + 32)));
  __m128i a = _mm_xor_si128(load(0), _mm_cvtsi32_si128(static_cast<int>(crc)));
  __m128i b = load(16), c = load(32), d = load(48);
  size_t at = kStep;
  for (; bytes.size() - at >= kStep; at += kStep) {
    a = fold(a, load(at), by_512);
    b = fold(b, load(at + 16), by_512);
    c = fold(c, load(at + 32), by_512);
    d = fold(d, load(at + 48), by_512);
  }
  alignas(16) std::array<std::byte, 16> folded;
  _mm_store_si128(reinterpret_cast<__m128i*>(folded.data()),
                  fold(fold(fold(a, b, by_128), c, by_128), d, by_128));
  return Crc32Table::advance(bytes.subspan(at), Crc32Table::advance(folded, 0));
}

uint32_t advance_crc32(Bytes bytes, uint32_t crc) {
  static const bool has_instruction =
      __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return has_instruction ? advance_by_folding(bytes, crc) : Crc32Table::advance(bytes, crc);
}

#else

uint32_t advance_crc32(Bytes bytes, uint32_t crc) { return Crc32Table::advance(bytes, crc); }

#endif

}  // namespace

uint32_t crc32(Bytes bytes, uint32_t crc) { return ~advance_crc32(bytes, ~crc); }

uint32_t crc32_portable(Bytes bytes, uint32_t crc) { return ~Crc32Table::advance(bytes, ~crc); }

}  // namespace berth
