#include "storage/formats/utf8.h"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace berth {
namespace {

// Returns the length of the valid sequence at the start of `text`, which is not empty; 0 if there
// is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  // Table 3-7 of the Unicode Standard: the second byte's range depends on the first.
  size_t length = 0;
  unsigned low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
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

// The errors of two bytes, of which `before` holds the first and `bytes` the second.
BERTH_SSSE3 inline __m128i pair_errors(__m128i before, __m128i bytes) {
  constexpr uint8_t kAny = kTooShort | kTooLong | kTwoContinued;
  constexpr uint8_t kHigh1[16] = {
      kTooLong,
      kTooLong,
      kTooLong,
      kTooLong,
      kTooLong,
      kTooLong,
      kTooLong,
      kTooLong,
      kTwoContinued,
      kTwoContinued,
      kTwoContinued,
      kTwoContinued,
      kTooShort | kOverlong2,
      kTooShort,
      kTooShort | kOverlong3 | kSurrogate,
      kTooShort | kTooLarge | kOverlong4,
  };
  constexpr uint8_t kLarge = kAny | kTooLarge | kOverlong4;  // low bits of F5 to FF
  constexpr uint8_t kLow1[16] = {
      kAny | kOverlong3 | kOverlong2 | kOverlong4,
      kAny | kOverlong2,
      kAny,
      kAny,
      kAny | kTooLarge,
      kLarge,
      kLarge,
      kLarge,
      kLarge,
      kLarge,
      kLarge,
      kLarge,
      kLarge,
      kLarge | kSurrogate,
      kLarge,
      kLarge,
  };
  constexpr uint8_t kContinuation = kTooLong | kOverlong2 | kTwoContinued;
  constexpr uint8_t kHigh2[16] = {
      kTooShort,
      kTooShort,
      kTooShort,
      kTooShort,
      kTooShort,
      kTooShort,
      kTooShort,
      kTooShort,
      kContinuation | kOverlong3 | kOverlong4,
      kContinuation | kOverlong3 | kTooLarge,
      kContinuation | kSurrogate | kTooLarge,
      kContinuation | kSurrogate | kTooLarge,
      kTooShort,
      kTooShort,
      kTooShort,
      kTooShort,
  };
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
    const size_t length = sequence_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  if (is_utf8_by_words(text)) return std::nullopt;
  return find_invalid_utf8_portable(text);
}

void append_utf8(uint32_t code_point, std::string& text) {
  const auto trailing = [&](int shift) {
    return static_cast<char>(0x80 | ((code_point >> shift) & 0x3F));
  };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xC0 | (code_point >> 6));
    text += trailing(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xE0 | (code_point >> 12));
    text += trailing(6);
    text += trailing(0);
  } else {
    text += static_cast<char>(0xF0 | (code_point >> 18));
    text += trailing(12);
    text += trailing(6);
    text += trailing(0);
  }
}

}  // namespace berth
