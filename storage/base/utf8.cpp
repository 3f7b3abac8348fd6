#include "storage/base/utf8.h"

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace berth {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// The continuation bytes that a lead byte requires. For four lead bytes the range of the first one
// is narrower.
struct Lead {
  size_t continuations;
  unsigned char first_low, first_high;
};

Lead lead_of(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};  // excludes surrogates
  if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF};
  return {0, 0, 0};
}

#if defined(__x86_64__)

#define BERTH_SSSE3 __attribute__((target("ssse3")))

// Keiser and Lemire, "Validating UTF-8 In Less Than One Instruction Per Byte" (2021,
// arXiv:2010.03090). Three tables are looked up by half bytes of a byte and of the byte before it.
// Each entry has a bit for every error that these four bits allow, and an error is a bit that all
// three have.
enum Utf8Error : uint8_t {
  kTooShort = 1 << 0,      // a lead that no continuation follows
  kTooLong = 1 << 1,       // a continuation behind ASCII
  kOverlong3 = 1 << 2,     // E0 followed by 80 to 9F
  kTooLarge = 1 << 3,      // F4 followed by 90 to BF, and F5 on
  kSurrogate = 1 << 4,     // ED followed by A0 to BF
  kOverlong2 = 1 << 5,     // C0 or C1
  kOverlong4 = 1 << 6,     // F0 followed by 80 to 8F; also F5 on followed by 80 to 8F
  kTwoContinued = 1 << 7,  // two continuations, which are no error behind E0 on
};

BERTH_SSSE3 inline __m128i look_up(const uint8_t (&table)[16], __m128i index) {
  return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)), index);
}

// clang-format off
constexpr uint8_t kAny = kTooShort | kTooLong | kTwoContinued;
// By the high and the low half of the first byte.
constexpr uint8_t kHigh1[16] = {
    kTooLong, kTooLong, kTooLong, kTooLong,
    kTooLong, kTooLong, kTooLong, kTooLong,
    kTwoContinued, kTwoContinued, kTwoContinued, kTwoContinued,
    kTooShort | kOverlong2, kTooShort,
    kTooShort | kOverlong3 | kSurrogate, kTooShort | kTooLarge | kOverlong4,
};
constexpr uint8_t kLarge = kAny | kTooLarge | kOverlong4;  // low bits of F5 to FF
constexpr uint8_t kLow1[16] = {
    kAny | kOverlong3 | kOverlong2 | kOverlong4, kAny | kOverlong2, kAny, kAny,
    kAny | kTooLarge, kLarge, kLarge, kLarge,
    kLarge, kLarge, kLarge, kLarge,
    kLarge, kLarge | kSurrogate, kLarge, kLarge,
};
// By the high half of the second byte.
constexpr uint8_t kContinuation = kTooLong | kOverlong2 | kTwoContinued;
constexpr uint8_t kHigh2[16] = {
    kTooShort, kTooShort, kTooShort, kTooShort,
    kTooShort, kTooShort, kTooShort, kTooShort,
    kContinuation | kOverlong3 | kOverlong4, kContinuation | kOverlong3 | kTooLarge,
    kContinuation | kSurrogate | kTooLarge, kContinuation | kSurrogate | kTooLarge,
    kTooShort, kTooShort, kTooShort, kTooShort,
};
// clang-format on

// The errors of two bytes, of which `before` holds the first and `bytes` the second.
BERTH_SSSE3 inline __m128i pair_errors(__m128i before, __m128i bytes) {
  const __m128i half = _mm_set1_epi8(0x0F);
  const __m128i high1 = look_up(kHigh1, _mm_and_si128(_mm_srli_epi16(before, 4), half));
  const __m128i low1 = look_up(kLow1, _mm_and_si128(before, half));
  const __m128i high2 = look_up(kHigh2, _mm_and_si128(_mm_srli_epi16(bytes, 4), half));
  return _mm_and_si128(_mm_and_si128(high1, low1), high2);
}

// The errors of 16 bytes; `last` are the 16 before them. The third byte behind a lead of three and
// the fourth of four must be the second of two continuations, and no other may be.
BERTH_SSSE3 inline __m128i word_errors(__m128i last, __m128i bytes) {
  const __m128i before1 = _mm_alignr_epi8(bytes, last, 15);
  const __m128i before2 = _mm_alignr_epi8(bytes, last, 14);
  const __m128i before3 = _mm_alignr_epi8(bytes, last, 13);
  const __m128i third = _mm_subs_epu8(before2, _mm_set1_epi8(0xE0 - 0x80));
  const __m128i fourth = _mm_subs_epu8(before3, _mm_set1_epi8(0xF0 - 0x80));
  const __m128i expected =
      _mm_and_si128(_mm_or_si128(third, fourth), _mm_set1_epi8(static_cast<char>(0x80)));
  return _mm_xor_si128(pair_errors(before1, bytes), expected);
}

BERTH_SSSE3 bool is_utf8_by_ssse3(std::string_view text) {
  constexpr size_t kWord = sizeof(__m128i), kBlock = 4 * kWord;
  __m128i errors = _mm_setzero_si128(), last = _mm_setzero_si128();
  const auto load = [](const char* at) BERTH_SSSE3 {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  };
  const auto take = [&](__m128i bytes) BERTH_SSSE3 {
    errors = _mm_or_si128(errors, word_errors(last, bytes));
    last = bytes;
  };
  const auto has_none = [](__m128i bits) BERTH_SSSE3 { return _mm_movemask_epi8(bits) == 0; };

  for (; text.size() >= kBlock; text.remove_prefix(kBlock)) {
    const __m128i a = load(text.data()), b = load(text.data() + kWord);
    const __m128i c = load(text.data() + 2 * kWord), d = load(text.data() + 3 * kWord);
    // Blocks of ASCII are passed over. A branch for each word would often be mispredicted.
    if (has_none(_mm_or_si128(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d)), last))) {
      last = d;
      continue;
    }
    take(a);
    take(b);
    take(c);
    take(d);
  }
  for (; text.size() >= kWord; text.remove_prefix(kWord)) take(load(text.data()));
  // The zeros behind the text end a sequence that is too short.
  char rest[kWord] = {};
  if (!text.empty()) std::memcpy(rest, text.data(), text.size());
  take(load(rest));
  return _mm_movemask_epi8(_mm_cmpeq_epi8(errors, _mm_setzero_si128())) == 0xFFFF;
}

#undef BERTH_SSSE3

// Whether `text` is known to be valid.
bool is_utf8_by_words(std::string_view text) {
  static const bool has_instruction = __builtin_cpu_supports("ssse3");
  return has_instruction && is_utf8_by_ssse3(text);
}

#else

bool is_utf8_by_words(std::string_view) { return false; }

#endif

}  // namespace

DecodedCharacter decode_utf8(std::string_view text) {
  const auto byte_at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte_at(0);
  if (first < 0x80) return {first, 1};
  const Lead lead = lead_of(first);
  if (lead.continuations == 0) return {kReplacement, 1};
  char32_t code_point = first & (0x3F >> lead.continuations);
  for (size_t i = 1; i <= lead.continuations; ++i) {
    const unsigned char low = i == 1 ? lead.first_low : 0x80;
    const unsigned char high = i == 1 ? lead.first_high : 0xBF;
    if (i >= text.size() || byte_at(i) < low || byte_at(i) > high) return {kReplacement, i};
    code_point = code_point << 6 | (byte_at(i) & 0x3F);
  }
  return {code_point, lead.continuations + 1};
}

size_t previous_character(std::string_view text, size_t end) {
  for (size_t size = 2; size <= 4 && size <= end; ++size) {
    const DecodedCharacter found = decode_utf8(text.substr(end - size, size));
    if (found.size_bytes == size) return end - size;
  }
  return end - 1;
}

std::optional<size_t> find_invalid_utf8_portable(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      eight &= 0x8080808080808080u;
      if (eight == 0) {
        at += sizeof eight;
        continue;
      }
      at += static_cast<size_t>(std::countr_zero(eight)) / 8;  // the ASCII before it
    }
    const std::string_view rest = text.substr(at);
    const DecodedCharacter next = decode_utf8(rest);
    if (is_malformed(next, rest)) return at;
    at += next.size_bytes;
  }
  return std::nullopt;
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  if (is_utf8_by_words(text)) return std::nullopt;
  return find_invalid_utf8_portable(text);
}

size_t encode_utf8(char32_t c, char* out) {
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  const size_t continuations = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  out[0] = static_cast<char>((0xF80 >> continuations) | (c >> (6 * continuations)));
  for (size_t i = 1; i <= continuations; ++i) {
    out[i] = static_cast<char>(0x80 | (c >> (6 * (continuations - i)) & 0x3F));
  }
  return continuations + 1;
}

void append_utf8(char32_t c, std::string& text) {
  char bytes[4];
  text.append(bytes, encode_utf8(c, bytes));
}

std::string to_utf8(char32_t c) { return to_utf8(std::u32string_view(&c, 1)); }

std::string to_utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t c : text) append_utf8(c, bytes);
  return bytes;
}

size_t replace_malformed(std::string_view text, std::string& copy) {
  size_t malformed = 0;
  copy.clear();
  while (!text.empty()) {
    const DecodedCharacter next = decode_utf8(text);
    malformed += is_malformed(next, text);
    append_utf8(next.code_point, copy);
    text.remove_prefix(next.size_bytes);
  }
  return malformed;
}

}  // namespace berth
