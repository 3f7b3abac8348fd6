#include "storage/formats/pickle/pickle_literals.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "storage/formats/utf8.h"

namespace berth {
namespace {

// Parses exactly `digits` hexadecimal digits at the start of `text`.
std::optional<uint32_t> parse_hex(std::string_view text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  uint32_t value = 0;
  const char* end = text.data() + digits;
  const auto [stopped, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

constexpr bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Decodes the escape whose backslash is text[at - 1], and moves `at` past it. An escape that Python
// does not know stays unchanged. Returns false if the escape is malformed.
bool append_escape(std::string_view text, size_t& at, std::string& out) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  if (at == text.size()) return false;
  const char letter = text[at];
  if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
    out += kMeanings[known];
    ++at;
  } else if (letter == 'x') {
    const auto value = parse_hex(text.substr(at + 1), 2);
    if (!value) return false;
    out += static_cast<char>(*value);
    at += 3;
  } else if (is_octal(letter)) {
    unsigned value = 0;
    for (int i = 0; i < 3 && at < text.size() && is_octal(text[at]); ++i) {
      value = value * 8 + (text[at++] - '0');
    }
    out += static_cast<char>(value);
  } else {
    out += '\\';
  }
  return true;
}

}  // namespace

std::optional<Integer> parse_integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  int64_t value = 0;
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (stopped != end || text.empty()) return std::nullopt;
  if (error == std::errc()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  const auto real = parse_float(text);
  if (!real) return std::nullopt;
  return *real;
}

Integer decode_integer(Bytes bytes) {
  const bool negative = !bytes.empty() && (bytes.back() & std::byte{0x80}) != std::byte{0};
  if (bytes.size() <= 8) {
    uint64_t value = negative ? ~uint64_t{0} : 0;
    for (size_t i = bytes.size(); i > 0; --i) {
      value = value << 8 | std::to_integer<uint64_t>(bytes[i - 1]);
    }
    return static_cast<int64_t>(value);
  }
  double value = std::to_integer<int>(bytes.back()) - (negative ? 256 : 0);
  for (size_t i = bytes.size() - 1; i > 0 && std::isfinite(value); --i) {
    value = value * 256 + std::to_integer<int>(bytes[i - 1]);
  }
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (stopped != end || text.empty() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return text.starts_with('-') ? -kInfinity : kInfinity;
  }
  return value;
}

std::optional<std::string> unquote(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != literal.back() ||
      (literal.front() != '\'' && literal.front() != '"')) {
    return std::nullopt;
  }
  const std::string_view text = literal.substr(1, literal.size() - 2);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at++];
    if (c != '\\') {
      out += c;
    } else if (!append_escape(text, at, out)) {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::string> decode_raw_unicode(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool escape =
        text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == 'u' || text[at + 1] == 'U');
    if (!escape) {
      append_utf8(static_cast<unsigned char>(text[at++]), out);
      continue;
    }
    const size_t digits = text[at + 1] == 'u' ? 4 : 8;
    const auto code_point = parse_hex(text.substr(at + 2), digits);
    if (!code_point || *code_point > 0x10FFFF) return std::nullopt;
    append_utf8(*code_point, out);
    at += 2 + digits;
  }
  return out;
}

}  // namespace berth
