#include "trainer/data/text_list.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/utf8.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

using Parts = std::vector<std::string>;

// Parses Python's and NumPy's lists: [ part {(, | blank) part} [,] ]
class PythonList {
 public:
  explicit PythonList(std::string_view text) : text_(text) {}

  std::optional<Parts> parse() {
    Parts parts;
    if (!take('[')) return std::nullopt;
    skip_blanks();
    while (!take(']')) {
      std::string& part = parts.emplace_back();
      const bool is_quoted = next() == '\'' || next() == '"';
      if (!(is_quoted ? read_quoted(part) : read_bare(part))) return std::nullopt;
      const size_t end = at_;
      skip_blanks();
      const bool is_separated = take(',') || at_ > end || next() == ']';
      if (!is_separated) return std::nullopt;
      skip_blanks();
    }
    skip_blanks();
    return at_ == text_.size() ? std::optional(std::move(parts)) : std::nullopt;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  // The next character to read; zero at the end.
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (next() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  void skip_blanks() {
    while (is_blank(next())) ++at_;
  }

  // Reads a number, True or False. None is refused, since it is not a label.
  bool read_bare(std::string& part) {
    const size_t begin = at_;
    while (at_ < text_.size() && next() != ',' && next() != ']' && !is_blank(next())) ++at_;
    part = text_.substr(begin, at_ - begin);
    if (part == "True" || part == "False") return true;
    const bool has_digits = part.find_first_of("0123456789") != std::string::npos;
    return has_digits && parse_real(part).has_value();
  }

  bool read_quoted(std::string& part) {
    const char quote = text_[at_++];
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == quote) return !find_invalid_utf8(part);
      if (c != '\\') {
        part += c;
      } else if (!read_escape(part)) {
        return false;
      }
    }
    return false;
  }

  bool read_escape(std::string& part) {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    switch (c) {
      case '\\':
      case '\'':
      case '"':
        part += c;
        return true;
      case 'n':
        part += '\n';
        return true;
      case 'r':
        part += '\r';
        return true;
      case 't':
        part += '\t';
        return true;
      case 'x':
        return read_code_point(2, part);
      case 'u':
        return read_code_point(4, part);
      case 'U':
        return read_code_point(8, part);
      default:
        return false;
    }
  }

  bool read_code_point(size_t digits, std::string& part) {
    uint32_t code_point = 0;
    for (size_t i = 0; i < digits; ++i) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const size_t digit = at_ < text_.size() ? kDigits.find(text_[at_++]) : std::string_view::npos;
      if (digit == std::string_view::npos) return false;
      code_point = code_point << 4 | static_cast<uint32_t>(digit);
    }
    if (code_point > 0x10FFFF) return false;
    append_utf8(code_point, part);
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

std::optional<Parts> parts_of(const Json& list) {
  Parts parts;
  for (const Json& part : list) {
    if (part.is_string()) {
      parts.push_back(part.get<std::string>());
    } else if (part.is_number() || part.is_boolean()) {
      parts.push_back(to_text(part));
    } else {
      return std::nullopt;
    }
  }
  return parts;
}

}  // namespace

std::optional<std::vector<std::string>> parse_text_list(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('[')) return std::nullopt;
  const Json list = parse_json(text);
  return list.is_array() ? parts_of(list) : PythonList(text).parse();
}

std::optional<std::vector<std::string>> parse_tuple(std::string_view text) {
  text = trimmed(text);
  const size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  const std::string_view name = text.substr(0, open);
  const std::string_view inside = trimmed(text.substr(open + 1, text.size() - open - 2));
  if (name == "array" || name == "tensor") {
    return parse_text_list(inside.substr(0, inside.rfind(']') + 1));
  }
  if (name.empty() && inside.empty()) return Parts();
  if (!name.empty() || inside.find(',') == std::string_view::npos) return std::nullopt;
  return parse_text_list(cat('[', inside, ']'));
}

bool begins_list(std::string_view text) {
  text = trimmed(text);
  return text.starts_with('[') || text.starts_with('{');
}

bool is_bracketed(std::string_view text) {
  text = trimmed(text);
  return (text.starts_with('[') && text.ends_with(']')) ||
         (text.starts_with('{') && text.ends_with('}'));
}

}  // namespace berth
