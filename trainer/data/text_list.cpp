#include "trainer/data/text_list.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "storage/formats/conll_columns.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

using Parts = std::vector<std::string>;

// What NumPy 2 and PyTorch show around a number or a text.
constexpr std::string_view kWrappers[] = {"np.int64(",   "np.int32(",   "np.int16(",  "np.int8(",
                                          "np.uint8(",   "np.uint16(",  "np.uint32(", "np.uint64(",
                                          "np.float64(", "np.float32(", "np.str_(",   "tensor("};

// Parses Python's and NumPy's lists: [ part {(, | blank) part} [,] ], and sets in braces.
class PythonList {
 public:
  explicit PythonList(std::string_view text) : text_(text) {}

  std::optional<Parts> parse() {
    Parts parts;
    const bool is_set = text_.take('{');
    if (!is_set && !text_.take('[')) return std::nullopt;
    const char close = is_set ? '}' : ']';
    text_.skip_blanks();
    while (!text_.take(close)) {
      if (!read_part(parts.emplace_back())) return std::nullopt;
      const size_t end = text_.at();
      text_.skip_blanks();
      const bool is_separated = text_.take(',') || text_.at() > end || text_.next() == close;
      if (!is_separated) return std::nullopt;
      text_.skip_blanks();
    }
    text_.skip_blanks();
    // {} is a dictionary.
    const bool is_whole = text_.is_at_end() && !(is_set && parts.empty());
    return is_whole ? std::optional(std::move(parts)) : std::nullopt;
  }

 private:
  bool read_part(std::string& part) {
    const bool is_wrapped = std::ranges::any_of(
        kWrappers, [&](std::string_view wrapper) { return text_.take(wrapper); });
    const bool is_read = text_.is_at_quote() ? text_.read_quoted(part) : read_bare(part);
    return is_read && (!is_wrapped || text_.take(')'));
  }

  // Reads a number, True or False. None is refused, since it is not a label.
  bool read_bare(std::string& part) {
    if (text_.take("np.True_")) part = "True";
    if (text_.take("np.False_")) part = "False";
    if (!part.empty()) return true;
    part = text_.read_until(",]})");
    if (part == "True" || part == "False") return true;
    const bool has_digits = part.find_first_of("0123456789") != std::string::npos;
    return has_digits && parse_real(part).has_value();
  }

  PythonText text_;
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
  if (text == "set()" || text == "frozenset()") return Parts();
  if (text.starts_with("frozenset({") && text.ends_with("})")) {
    text = text.substr(text.find('{'), text.rfind(')') - text.find('{'));
  }
  if (text.starts_with('{')) return PythonList(text).parse();
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
  if (name == "c") return parse_text_list(cat('[', inside, ']'));
  if (name == "array" || name == "tensor") {
    return parse_text_list(inside.substr(0, inside.rfind(']') + 1));
  }
  if (name.empty() && inside.empty()) return Parts();
  if (!name.empty() || inside.find(',') == std::string_view::npos) return std::nullopt;
  return parse_text_list(cat('[', inside, ']'));
}

std::optional<std::vector<std::string>> parse_joined_tags(std::string_view text) {
  for (const char mark : {',', ';', '|'}) {
    std::vector<std::string> tags = parted(text, cat(mark, " \t"));
    // A blank alone separates none of the tags.
    const bool is_joined = static_cast<size_t>(std::ranges::count(text, mark)) + 1 >= tags.size();
    if (tags.size() > 1 && is_joined && std::ranges::all_of(tags, is_iob_tag)) return tags;
  }
  return std::nullopt;
}

bool is_shortened_list(std::string_view text) {
  text = trimmed(text);
  const bool is_list =
      text.starts_with('[') || text.starts_with("array([") || text.starts_with("tensor([");
  if (!is_list || text.find("...") == std::string_view::npos) return false;
  PythonText left(text.substr(text.find('['), text.rfind(']') - text.find('[')));
  size_t gaps = 0, members = 0;
  while (!left.is_at_end()) {
    if (left.is_at_quote()) {
      std::string member;
      if (!left.read_quoted(member)) return false;
      ++members;
      continue;
    }
    const std::string_view member = left.read_until("[],'\"");
    const bool is_gap = member == "...";
    const bool is_member = member == "True" || member == "False" || parse_real(member);
    if (!member.empty() && !is_gap && !is_member) return false;
    gaps += is_gap;
    members += is_member;
    if (!member.empty() || left.take('[') || left.take(']') || left.take(',')) continue;
    left.skip_blanks();
  }
  return gaps > 0 && members > 1;
}

bool begins_list(std::string_view text) {
  text = trimmed(text);
  return text.starts_with('[') || text.starts_with('{') || text.starts_with("frozenset(");
}

bool is_bracketed(std::string_view text) {
  text = trimmed(text);
  return (text.starts_with('[') && text.ends_with(']')) ||
         (text.starts_with('{') && text.ends_with('}'));
}

namespace {

constexpr int kDeepest = 32;
constexpr std::string_view kPythonBlanks = " \t\n\r";

// Parses a value of lists, tuples, dictionaries, texts, numbers, True, False and None.
class PythonValue {
 public:
  explicit PythonValue(std::string_view text) : text_(text) {}

  Json parse() {
    Json value;
    text_.skip_blanks();
    if (!read(value, 0)) return Json(Json::value_t::discarded);
    text_.skip_blanks();
    return text_.is_at_end() ? value : Json(Json::value_t::discarded);
  }

 private:
  bool read(Json& value, int depth) {
    if (depth > kDeepest) return false;
    if (text_.take('[')) return read_list(value, ']', depth);
    if (text_.take('(')) return read_list(value, ')', depth);
    if (text_.take('{')) return read_dictionary(value, depth);
    if (text_.take("array(")) return read_array(value, depth);
    for (const std::string_view wrapper : kWrappers) {
      if (text_.take(wrapper)) return read(value, depth + 1) && text_.take(')');
    }
    if (!text_.is_at_quote()) return read_bare(value);
    std::string text;
    if (!text_.read_quoted(text)) return false;
    value = std::move(text);
    return true;
  }

  bool read_list(Json& list, char end, int depth) {
    list = Json::array();
    for (text_.skip_blanks(); !text_.take(end); text_.skip_blanks()) {
      Json& value = list.emplace_back();
      if (!read(value, depth + 1)) return false;
      text_.skip_blanks();
      if (!text_.take(',') && text_.next() != end) return false;
    }
    return true;
  }

  // A list as NumPy shows it, behind "array(": [1, 2], dtype=int32).
  bool read_array(Json& list, int depth) {
    if (!text_.take('[') || !read_list(list, ']', depth)) return false;
    text_.skip_blanks();
    if (text_.take(',')) {
      text_.skip_blanks();
      text_.read_until(")");
    }
    return text_.take(')');
  }

  bool read_dictionary(Json& object, int depth) {
    object = Json::object();
    for (text_.skip_blanks(); !text_.take('}'); text_.skip_blanks()) {
      std::string key;
      if (!text_.is_at_quote() || !text_.read_quoted(key)) return false;
      text_.skip_blanks();
      if (!text_.take(':')) return false;
      text_.skip_blanks();
      if (!read(object[key], depth + 1)) return false;
      text_.skip_blanks();
      if (!text_.take(',') && text_.next() != '}') return false;
    }
    return true;
  }

  bool read_bare(Json& value) {
    const std::string_view text = text_.read_until(",:]})");
    const auto number = parse_number(text);
    if (number) {
      value = *number;
    } else if (text == "True" || text == "False") {
      value = text == "True";
    } else if (text != "None" && text != "nan") {
      const auto real = parse_real(text);
      if (!real) return false;
      value = *real;
    }
    return true;
  }

  PythonText text_;
};

}  // namespace

bool PythonText::take(char c) {
  if (next() != c || is_at_end()) return false;
  ++at_;
  return true;
}

bool PythonText::take(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

void PythonText::skip_blanks() {
  while (!is_at_end() && kPythonBlanks.find(next()) != std::string_view::npos) ++at_;
}

std::string_view PythonText::read_until(std::string_view ends) {
  const size_t begin = at_;
  const auto is_end = [&](char c) {
    return ends.find(c) != std::string_view::npos ||
           kPythonBlanks.find(c) != std::string_view::npos;
  };
  while (!is_at_end() && !is_end(next())) ++at_;
  return text_.substr(begin, at_ - begin);
}

bool PythonText::read_quoted(std::string& part) {
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

bool PythonText::read_escape(std::string& part) {
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

bool PythonText::read_code_point(size_t digits, std::string& part) {
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

Json parse_python(std::string_view text) { return PythonValue(text).parse(); }

}  // namespace berth
