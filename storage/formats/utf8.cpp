#include "storage/formats/utf8.h"

#include <algorithm>
#include <string>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"

namespace berth {
namespace {

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
        character = kWindows1252[byte - 0x80];
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
