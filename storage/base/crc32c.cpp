#include "storage/base/crc32c.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#include "storage/base/crc_polynomial.h"
#include "storage/base/crc_table.h"

namespace berth {
namespace {

constexpr uint32_t kCrc32cPolynomial = 0x82F63B78;

using Polynomial = CrcPolynomial<kCrc32cPolynomial>;

[[maybe_unused]] uint64_t load_u64(const std::byte* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

#if defined(__x86_64__)

// The instruction starts once a cycle, but its result takes three cycles. Three independent lanes
// hide that latency.
constexpr size_t kLane = size_t{8} << 10;
constexpr uint32_t kLaneShift = Polynomial::x_to(8 * kLane);

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
    second ^= Polynomial::multiply(kLaneShift, static_cast<uint32_t>(wide));
    wide = third ^ Polynomial::multiply(kLaneShift, static_cast<uint32_t>(second));
  }
  for (; left >= 8; at += 8, left -= 8) wide = _mm_crc32_u64(wide, load_u64(at));
  crc = static_cast<uint32_t>(wide);
  for (; left > 0; ++at, --left) crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*at));
  return crc;
}

// Each 256-byte block is folded into the next one, 16 bytes at a time: both 64-bit halves are
// multiplied with the power of x that moves them by one block. The power is one bit less because a
// product of bit-reflected numbers is shifted by one bit. Gopal et al. 2009, "Fast CRC Computation
// for Generic Polynomials Using PCLMULQDQ Instruction".
constexpr size_t kFolded = 256;
constexpr uint64_t fold_by(uint64_t bits) { return uint64_t{Polynomial::x_to(bits - 1)} << 32; }

#define BERTH_FOLDING __attribute__((target("avx512f,vpclmulqdq")))

BERTH_FOLDING __m512i folded(__m512i block, __m512i powers, __m512i next) {
  const __m512i low = _mm512_clmulepi64_epi128(block, powers, 0x00);
  const __m512i high = _mm512_clmulepi64_epi128(block, powers, 0x11);
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(low, high, next, kXorOfThree);
}

BERTH_FOLDING uint32_t advance_by_folding_blocks(Bytes bytes, uint32_t crc) {
  if (bytes.size() < 2 * kFolded) return advance_by_instruction(bytes, crc);
  const std::byte* at = bytes.data();
  size_t left = bytes.size() - kFolded;
  constexpr auto kLow = static_cast<int64_t>(fold_by(8 * kFolded + 64));
  constexpr auto kHigh = static_cast<int64_t>(fold_by(8 * kFolded));
  const __m512i powers = _mm512_set_epi64(kHigh, kLow, kHigh, kLow, kHigh, kLow, kHigh, kLow);
  const __m512i begin = _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc)));
  __m512i a = _mm512_xor_si512(_mm512_loadu_si512(at), begin);
  __m512i b = _mm512_loadu_si512(at + 64);
  __m512i c = _mm512_loadu_si512(at + 128);
  __m512i d = _mm512_loadu_si512(at + 192);
  for (at += kFolded; left >= kFolded; at += kFolded, left -= kFolded) {
    a = folded(a, powers, _mm512_loadu_si512(at));
    b = folded(b, powers, _mm512_loadu_si512(at + 64));
    c = folded(c, powers, _mm512_loadu_si512(at + 128));
    d = folded(d, powers, _mm512_loadu_si512(at + 192));
  }
  std::byte block[kFolded];
  _mm512_storeu_si512(block, a);
  _mm512_storeu_si512(block + 64, b);
  _mm512_storeu_si512(block + 128, c);
  _mm512_storeu_si512(block + 192, d);
  return advance_by_instruction({at, left}, advance_by_instruction(block, 0));
}

std::vector<Crc32cFunction> functions_of_cpu() {
  std::vector<Crc32cFunction> functions;
  const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq"))
    functions.push_back(advance_by_folding_blocks);
  if (has_instruction) functions.push_back(advance_by_instruction);
  return functions;
}

#elif defined(__ARM_FEATURE_CRC32)

uint32_t advance_by_instruction(Bytes bytes, uint32_t crc) {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) crc = __crc32cd(crc, load_u64(at));
  for (; left > 0; ++at, --left) crc = __crc32cb(crc, static_cast<uint8_t>(*at));
  return crc;
}

std::vector<Crc32cFunction> functions_of_cpu() { return {advance_by_instruction}; }

#else

std::vector<Crc32cFunction> functions_of_cpu() { return {}; }

#endif

}  // namespace

std::vector<Crc32cFunction> supported_crc32c() {
  std::vector<Crc32cFunction> functions = functions_of_cpu();
  functions.push_back(CrcTable<kCrc32cPolynomial>::advance);
  return functions;
}

uint32_t crc32c(Bytes bytes, uint32_t crc) {
  static const Crc32cFunction advance = supported_crc32c().front();
  return ~advance(bytes, ~crc);
}

uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b) {
  return Polynomial::multiply(Polynomial::x_to(8 * size_b), crc_a) ^ crc_b;
}

}  // namespace berth
