#include "storage/formats/utf8.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

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

namespace {

// The characters 0x80 to 0x9F of windows-1252; 0: there is none.
constexpr uint16_t kHighCharacters[32] = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

// What shows UTF-16 and UTF-32 without a byte order mark.
constexpr size_t kLookedBytes = 64;

// Texts of two bytes a character have a zero in every other place where they are Latin.
struct ZeroBytes {
  size_t at_even = 0, at_odd = 0;

  explicit ZeroBytes(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\0') ++(i % 2 == 0 ? at_even : at_odd);
    }
  }
};

// Whether bytes beyond ASCII mostly stand side by side. In the languages of Western Europe, such
// bytes stand between letters of ASCII. They do not if a character has two bytes, or if no letter
// is ASCII.
bool stand_together(std::string_view text) {
  size_t high = 0, together = 0;
  const auto is_high = [&](size_t i) {
    return i < text.size() && static_cast<unsigned char>(text[i]) >= 0x80;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_high(i)) continue;
    ++high;
    together += (i > 0 && is_high(i - 1) && text[i] != text[i - 1]) ||
                (is_high(i + 1) && text[i] != text[i + 1]);
  }
  constexpr size_t kEnough = 8;
  return high >= kEnough && together * 4 > high * 3;
}

bool is_ascii(std::byte byte) { return std::to_integer<unsigned>(byte) < 0x80; }

class Utf8Source final : public ByteSource {
 public:
  Utf8Source(std::unique_ptr<ByteSource> source, TextEncoding encoding)
      : source_(std::move(source)), encoding_(encoding) {}

  size_t read(std::span<std::byte> buffer) override {
    if (!has_begun_) begin();
    while (place_ == ready_.size()) {
      if (form_ == Form::kBytes) return source_->read(buffer);
      if (!convert()) return 0;
    }
    const Bytes left = as_bytes(std::string_view(ready_).substr(place_));
    const size_t count = std::min(buffer.size(), left.size());
    std::copy_n(left.begin(), count, buffer.begin());
    place_ += count;
    return count;
  }

 private:
  enum class Form { kBytes, kLittleEndian, kBigEndian, kLatin1, kWindows1252, kUndecided };

  void begin() {
    has_begun_ = true;
    const bool is_8_bit =
        encoding_ == TextEncoding::kLatin1 || encoding_ == TextEncoding::kWindows1252;
    fill(is_8_bit ? bytes_.size() : kLookedBytes);
    const std::string_view text = as_text(Bytes(bytes_).first(waiting_));
    refuse_other_widths(text.substr(0, kLookedBytes));
    if (is_8_bit) look_for_utf8(text);
    if (!is_8_bit && (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))) {
      form_ = text.front() == '\xFF' ? Form::kLittleEndian : Form::kBigEndian;
      drop(2);
      return;
    }
    switch (encoding_) {
      case TextEncoding::kUtf8:
        return pass_on();
      case TextEncoding::kUtf16:
        form_ = Form::kLittleEndian;
        return;
      case TextEncoding::kLatin1:
        form_ = Form::kLatin1;
        return;
      case TextEncoding::kWindows1252:
        form_ = Form::kWindows1252;
        return;
      case TextEncoding::kAuto:
        form_ = Form::kUndecided;
        return;
    }
  }

  // Throws kBadData on UTF-32, and on UTF-16 where no mark and no flag says it.
  void refuse_other_widths(std::string_view text) const {
    using std::string_view_literals::operator""sv;
    const bool has_mark = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
    const ZeroBytes zeros(text);
    if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv) ||
        (!has_mark && (zeros.at_even + zeros.at_odd) * 3 > text.size() * 2)) {
      throw Error(Code::kBadData, "seems to be UTF-32", "", "convert it: iconv -f UTF-32 -t UTF-8");
    }
    if (has_mark || text.size() < 8 || encoding_ == TextEncoding::kUtf16) return;
    if (zeros.at_odd * 3 > text.size()) {
      throw Error(Code::kBadData, "seems to be UTF-16 without a byte order mark", "",
                  "--encoding utf-16 reads it");
    }
    if (zeros.at_even * 3 > text.size()) {
      throw Error(Code::kBadData, "seems to be UTF-16 without a byte order mark", "",
                  "convert it: iconv -f UTF-16BE -t UTF-8");
    }
  }

  // Warns where a flag names another encoding, and the beginning is UTF-8.
  void look_for_utf8(std::string_view text) const {
    const size_t certain = waiting_ < bytes_.size() ? waiting_ : waiting_ - 3;
    const auto invalid = find_invalid_utf8(text);
    const bool is_utf8 = !invalid || *invalid >= certain;
    const auto is_high = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
    if (!is_utf8 || std::ranges::none_of(text, is_high)) return;
    log_warning(
        "text seems to be UTF-8, and --encoding reads it in another encoding; leave the "
        "flag out if texts look wrong");
  }

  // Reads until `enough` bytes wait, or the source ends.
  void fill(size_t enough) {
    while (waiting_ < enough) {
      const size_t got = source_->read(std::span(bytes_).subspan(waiting_));
      if (got == 0) return;
      waiting_ += got;
    }
  }

  void drop(size_t count) {
    std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(count),
              bytes_.begin() + static_cast<std::ptrdiff_t>(waiting_), bytes_.begin());
    waiting_ -= count;
    offset_ += count;
  }

  // From here on the bytes are UTF-8.
  void pass_on() {
    form_ = Form::kBytes;
    ready_ = as_text(Bytes(bytes_).first(waiting_));
    waiting_ = 0;
  }

  // Makes the text of the next bytes. Returns false at the end.
  bool convert() {
    ready_.clear();
    place_ = 0;
    fill(form_ == Form::kUndecided ? bytes_.size() : 2);
    if (form_ == Form::kUndecided) decide();
    if (form_ == Form::kBytes) return true;
    if (form_ == Form::kUndecided) return take_ascii();
    if (form_ == Form::kLatin1 || form_ == Form::kWindows1252) return convert_8_bit();
    return convert_16_bit();
  }

  // Passes on the bytes before the first one beyond ASCII.
  bool take_ascii() {
    const auto end = bytes_.begin() + static_cast<std::ptrdiff_t>(waiting_);
    const auto first = std::find_if_not(bytes_.begin(), end, is_ascii);
    const auto count = static_cast<size_t>(first - bytes_.begin());
    ready_ = as_text(Bytes(bytes_).first(count));
    drop(count);
    return count > 0;
  }

  // Looks at the first bytes beyond ASCII, and checks whether they are UTF-8; the last character
  // may be cut.
  void decide() {
    const auto end = bytes_.begin() + static_cast<std::ptrdiff_t>(waiting_);
    const auto first = std::find_if_not(bytes_.begin(), end, is_ascii);
    // The end of a full buffer may cut a character, which has at most four bytes.
    const size_t certain = waiting_ < bytes_.size() ? waiting_ : waiting_ - 3;
    if (first - bytes_.begin() >= static_cast<std::ptrdiff_t>(certain)) return;
    const auto invalid = find_invalid_utf8(as_text(Bytes(bytes_).first(waiting_)));
    if (!invalid || *invalid >= certain) return pass_on();
    if (stand_together(as_text(Bytes(bytes_).first(waiting_)))) {
      throw Error(Code::kBadData, "is neither UTF-8 nor, as it seems, windows-1252",
                  cat("byte ", offset_ + *invalid),
                  "iconv -f NAME -t UTF-8 converts it from its encoding, such as SHIFT_JIS, GBK or "
                  "CP1251; --encoding windows-1252 reads it nevertheless");
    }
    form_ = Form::kWindows1252;
    log_info(cat("reads text as windows-1252, because its byte ", offset_ + *invalid,
                 " is not UTF-8; --encoding says otherwise"));
  }

  bool convert_8_bit() {
    for (size_t i = 0; i < waiting_; ++i, ++offset_) {
      const auto byte = std::to_integer<uint32_t>(bytes_[i]);
      uint32_t character = byte;
      if (form_ == Form::kWindows1252 && byte >= 0x80 && byte < 0xA0) {
        character = kHighCharacters[byte - 0x80];
        if (character == 0) fail("is not a character of windows-1252");
      }
      append_utf8(character, ready_);
    }
    waiting_ = 0;
    return !ready_.empty();
  }

  bool convert_16_bit() {
    if (waiting_ < 2 && (waiting_ > 0 || high_ != 0)) fail("as UTF-16 it ends within a character");
    const size_t whole = waiting_ - waiting_ % 2;
    const uint64_t begin = offset_;
    for (size_t i = 0; i < whole; i += 2) add_unit(unit_at(i));
    offset_ = begin;
    drop(whole);
    return whole > 0;
  }

  uint32_t unit_at(size_t i) const {
    const auto first = std::to_integer<uint32_t>(bytes_[i]);
    const auto second = std::to_integer<uint32_t>(bytes_[i + 1]);
    return form_ == Form::kLittleEndian ? second << 8 | first : first << 8 | second;
  }

  // Characters above U+FFFF are two units: a high surrogate and a low one.
  void add_unit(uint32_t unit) {
    const bool is_high = unit >= 0xD800 && unit < 0xDC00, is_low = unit >= 0xDC00 && unit < 0xE000;
    if ((high_ != 0) != is_low) fail("as UTF-16 it has half of a surrogate pair");
    offset_ += 2;
    if (is_high) {
      high_ = unit;
    } else {
      append_utf8(is_low ? 0x10000 + ((high_ - 0xD800) << 10) + (unit - 0xDC00) : unit, ready_);
      high_ = 0;
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::kBadData, what, cat("byte ", offset_), "--encoding names another encoding");
  }

  const std::unique_ptr<ByteSource> source_;
  const TextEncoding encoding_;
  Form form_ = Form::kBytes;
  bool has_begun_ = false;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(size_t{1} << 16);
  size_t waiting_ = 0;   // bytes in bytes_ that are not converted yet
  uint32_t high_ = 0;    // a high surrogate that waits for the low one; 0: none
  uint64_t offset_ = 0;  // of the first of them in the source
  std::string ready_;    // UTF-8 that is returned from place_ on
  size_t place_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> as_utf8(std::unique_ptr<ByteSource> source, TextEncoding encoding) {
  return std::make_unique<Utf8Source>(std::move(source), encoding);
}

}  // namespace berth
