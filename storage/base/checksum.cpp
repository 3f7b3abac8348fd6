#include "storage/base/checksum.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/text.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace berth {
namespace {

// Arithmetic on polynomials over GF(2) modulo a CRC polynomial. Bits are reflected, as in the CRC
// itself: 1 << 31 stands for 1 and 1 << 30 for x.
template <uint32_t kPolynomial>
struct CrcPolynomial {
  static constexpr uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = uint32_t{1} << 31; bit != 0; bit >>= 1) {
      if (a & bit) product ^= b;
      b = (b >> 1) ^ ((b & 1) ? kPolynomial : 0);
    }
    return product;
  }

  // x^exponent. Appending `exponent` zero bits to a message multiplies its CRC register by this.
  static constexpr uint32_t x_to(uint64_t exponent) {
    uint32_t result = uint32_t{1} << 31;
    uint32_t power = uint32_t{1} << 30;  // x, then x^2, x^4, ...
    for (; exponent != 0; exponent >>= 1) {
      if (exponent & 1) result = multiply(result, power);
      power = multiply(power, power);
    }
    return result;
  }
};

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

uint32_t parallel_crc32c(Bytes bytes, uint32_t crc) {
  constexpr size_t kLeastBytes = size_t{8} << 20, kMostParts = 8;
  const size_t parts = std::min(
      {size_t{std::thread::hardware_concurrency()}, bytes.size() / kLeastBytes, kMostParts});
  if (parts < 2) return crc32c(bytes, crc);
  const auto part = [&](size_t i) {
    const size_t begin = bytes.size() * i / parts, end = bytes.size() * (i + 1) / parts;
    return bytes.subspan(begin, end - begin);
  };
  std::vector<uint32_t> crcs(parts);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < parts; ++i) {
      threads.emplace_back([&, i] { crcs[i] = crc32c(part(i)); });
    }
    crc = crc32c(part(0), crc);
  }
  for (size_t i = 1; i < parts; ++i) crc = crc32c_combine(crc, crcs[i], part(i).size());
  return crc;
}

std::string crc_text(uint32_t crc) { return formatted("%08x", crc); }

}  // namespace berth
