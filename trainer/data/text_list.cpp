#include "trainer/data/text_list.h"

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/python_text.h"

namespace berth {
namespace {

using Parts = std::vector<std::string>;

// Parses Python's and NumPy's lists: [ part {(, | blank) part} [,] ]
class PythonList {
 public:
  explicit PythonList(std::string_view text) : text_(text) {}

  std::optional<Parts> parse() {
    Parts parts;
    if (!text_.take('[')) return std::nullopt;
    text_.skip_blanks();
    while (!text_.take(']')) {
      std::string& part = parts.emplace_back();
      if (!(text_.is_at_quote() ? text_.read_quoted(part) : read_bare(part))) return std::nullopt;
      const size_t end = text_.at();
      text_.skip_blanks();
      const bool is_separated = text_.take(',') || text_.at() > end || text_.next() == ']';
      if (!is_separated) return std::nullopt;
      text_.skip_blanks();
    }
    text_.skip_blanks();
    return text_.is_at_end() ? std::optional(std::move(parts)) : std::nullopt;
  }

 private:
  // Reads a number, True or False. None is refused, since it is not a label.
  bool read_bare(std::string& part) {
    part = text_.read_until(",]");
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
  return text.starts_with('[') || text.starts_with('{') || text.starts_with("frozenset(");
}

bool is_bracketed(std::string_view text) {
  text = trimmed(text);
  return (text.starts_with('[') && text.ends_with(']')) ||
         (text.starts_with('{') && text.ends_with('}'));
}

}  // namespace berth
